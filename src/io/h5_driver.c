/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "io/h5_driver.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#if H5_VERSION_GE(1, 14, 0)
#include <H5FDdevelop.h>
#endif

#include "base/bytes.h"
#include "base/memory.h"

struct reader {
  H5FD_t of_hdf5;         /* first: HDF5 fills it */
  int descriptor, wide;   /* wide 1: addresses and sizes in the file have 8 bytes */
  haddr_t end, allocated; /* of the file; as HDF5 sets it */
  dev_t device;
  ino_t inode;
};

/* An error for the stack of HDF5. Returns -1. */
static int failed(const char *what, int error)
{
  H5Epush2(H5E_DEFAULT, __FILE__, __func__, __LINE__, H5E_ERR_CLS, H5E_IO, H5E_READERROR, "%s: %s", what,
           strerror(error));
  return -1;
}

/* Whether the file states in its first bytes that sizes have 8 of them. */
static int is_wide(int descriptor)
{
  enum { FIRST = 16, VERSION_AT = 8, OLD_AT = 14, NEW_AT = 10 };
  unsigned char first[FIRST] = {0};
  if (read_all(descriptor, first, FIRST, 0) != FIRST || memcmp(first, "\211HDF\r\n\032\n", VERSION_AT) != 0) return 0;
  return first[first[VERSION_AT] < 2 ? OLD_AT : NEW_AT] == 8;
}

static H5FD_t *open_reader(const char *name, unsigned flags, hid_t access, haddr_t most)
{
  struct stat st;
  (void)access;
  (void)most;
  int descriptor = flags & (H5F_ACC_RDWR | H5F_ACC_CREAT | H5F_ACC_TRUNC) ? -1 : open(name, O_RDONLY | O_CLOEXEC);
  if (descriptor < 0 || fstat(descriptor, &st)) {
    failed("unable to open file", errno);
    if (descriptor >= 0) close(descriptor);
    return NULL;
  }
  struct reader *reader = memory_alloc("file buffer", sizeof *reader);
  *reader = (struct reader){.descriptor = descriptor,
                            .wide = is_wide(descriptor),
                            .end = (haddr_t)st.st_size,
                            .device = st.st_dev,
                            .inode = st.st_ino};
  return &reader->of_hdf5;
}

static herr_t close_reader(H5FD_t *file)
{
  struct reader *reader = (struct reader *)file;
  close(reader->descriptor);
  memory_free(reader);
  return 0;
}

static int compare(const H5FD_t *one, const H5FD_t *other)
{
  const struct reader *a = (const struct reader *)one, *b = (const struct reader *)other;
  if (a->device != b->device) return a->device < b->device ? -1 : 1;
  return a->inode == b->inode ? 0 : a->inode < b->inode ? -1 : 1;
}

/* What HDF5's driver of plain files says, but without the metadata that HDF5 collects. */
static herr_t features(const H5FD_t *file, unsigned long *flags)
{
  (void)file;
  *flags = H5FD_FEAT_DATA_SIEVE | H5FD_FEAT_POSIX_COMPAT_HANDLE | H5FD_FEAT_SUPPORTS_SWMR_IO |
           H5FD_FEAT_DEFAULT_VFD_COMPATIBLE;
  return 0;
}

static haddr_t get_allocated(const H5FD_t *file, H5FD_mem_t kind)
{
  (void)kind;
  return ((const struct reader *)file)->allocated;
}

static herr_t set_allocated(H5FD_t *file, H5FD_mem_t kind, haddr_t at)
{
  (void)kind;
  ((struct reader *)file)->allocated = at;
  return 0;
}

static haddr_t get_end(const H5FD_t *file, H5FD_mem_t kind)
{
  (void)kind;
  return ((const struct reader *)file)->end;
}

static herr_t get_descriptor(H5FD_t *file, hid_t access, void **descriptor)
{
  (void)access;
  *descriptor = &((struct reader *)file)->descriptor;
  return 0;
}

/* Whether bytes that were read are the prefix of a local heap that is larger than the file, for which HDF5 allocates
 * too little where the sum of its parts is above 2^64. */
static int is_wrong_heap(const struct reader *reader, const char *bytes, size_t size)
{
  enum { SIZE_AT = 8 };
  uint64_t stated;
  if (!reader->wide || size < SIZE_AT + sizeof stated || memcmp(bytes, "HEAP", 4) != 0) return 0;
  memcpy(&stated, bytes + SIZE_AT, sizeof stated); /* stored little endian, as this machine's */
  return stated > reader->end;
}

/* Whether bytes of an object header have the layout of a dataset in chunks that lack dimensions, without which HDF5
 * divides by 0. The messages of old headers begin at multiples of 8; newer ones have a checksum. */
static int has_wrong_chunks(const unsigned char *bytes, size_t size)
{
  enum { LAYOUT = 8, HEAD = 8, LEAST = 12, CHUNKED = 2 };
  for (size_t at = 0; at + HEAD + 8 <= size; at += 8) {
    const unsigned char *head = bytes + at, *layout = head + HEAD;
    if (head[0] != LAYOUT || head[1] || head[5] || head[6] || head[7] || (head[3] << 8 | head[2]) < LEAST) continue;
    int newer = layout[0] == 3, dimensions = layout[newer ? 2 : 1]; /* with that of the bytes of an element */
    if (layout[0] > 0 && layout[0] <= 3 && layout[newer ? 1 : 2] == CHUNKED && dimensions < 2) return 1;
  }
  return 0;
}

static herr_t read_bytes(H5FD_t *file, H5FD_mem_t kind, hid_t transfer, haddr_t at, size_t size, void *to)
{
  struct reader *reader = (struct reader *)file;
  (void)transfer;
  if (at > reader->end || size > reader->end - at) return failed("file read failed", EINVAL);
  int64_t got = read_all(reader->descriptor, to, (int64_t)size, (int64_t)at);
  if (got < 0) return failed("file read failed", errno);
  if (got != (int64_t)size) return failed("file read failed", EIO);
  if (kind == H5FD_MEM_LHEAP && is_wrong_heap(reader, to, size)) return failed("wrong size of a heap", EINVAL);
  if (kind == H5FD_MEM_OHDR && has_wrong_chunks(to, size)) return failed("chunks without dimensions", EINVAL);
  return 0;
}

static herr_t write_nothing(H5FD_t *file, H5FD_mem_t kind, hid_t transfer, haddr_t at, size_t size, const void *from)
{
  (void)file;
  (void)kind;
  (void)transfer;
  (void)at;
  (void)size;
  (void)from;
  return -1;
}

/* As HDF5's driver: a file that another program is writing is not read; file systems without locks are fine. */
static herr_t lock(H5FD_t *file, hbool_t writes)
{
  (void)writes;
  if (flock(((struct reader *)file)->descriptor, LOCK_SH | LOCK_NB) == 0 || errno == ENOSYS) return 0;
  return failed("unable to lock file", errno);
}

static herr_t unlock(H5FD_t *file)
{
  flock(((struct reader *)file)->descriptor, LOCK_UN);
  return 0;
}

static const H5FD_class_t driver = {
#if H5_VERSION_GE(1, 14, 0)
    .version = H5FD_CLASS_VERSION,
    .value = 512, /* the smallest one that is not HDF5's own */
#endif
    .name = "espalier",
    .maxaddr = INT64_MAX,
    .fc_degree = H5F_CLOSE_WEAK,
    .open = open_reader,
    .close = close_reader,
    .cmp = compare,
    .query = features,
    .get_eoa = get_allocated,
    .set_eoa = set_allocated,
    .get_eof = get_end,
    .get_handle = get_descriptor,
    .read = read_bytes,
    .write = write_nothing,
    .lock = lock,
    .unlock = unlock,
    .fl_map = H5FD_FLMAP_DICHOTOMY,
};

herr_t h5_driver_use(hid_t access)
{
  static hid_t registered = -1;
  if (H5Iis_valid(registered) <= 0) registered = H5FDregister(&driver);
  return registered < 0 ? -1 : H5Pset_driver(access, registered, NULL);
}
