/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The manifest of a checkpoint is written and read. */
#include <config.h>
#include "checkpoint/manifest.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/bytes.h"
#include "base/files.h"
#include "base/memory.h"

#define LAST_LINE "checksum = "
enum { LAST_BYTES = sizeof LAST_LINE - 1 + 16 + 1, SIZE_MAX_BYTES = 1 << 28 };

void items_write(FILE *out, const struct item *item, int count)
{
  for (int k = 0; k < count; k++) {
    const struct item *i = &item[k];
    fprintf(out, "%s =", i->name);
    for (int n = 0; n < i->count; n++) switch (i->kind) {
      case ITEM_WHOLE: fprintf(out, " %d", ((const int *)i->at)[n]); break;
      case ITEM_LONG: fprintf(out, " %lld", ((const long long *)i->at)[n]); break;
      case ITEM_REAL: fprintf(out, " %a", ((const double *)i->at)[n]); break;
      case ITEM_FLOAT: fprintf(out, " %a", (double)((const float *)i->at)[n]); break;
      }
    fputc('\n', out);
  }
}

void manifest_begin(struct manifest *manifest)
{
  manifest->out = open_memstream(&manifest->text, &manifest->size);
  if (!manifest->out) fatal("no memory for a text: %s", strerror(errno));
}

static int write_file(const char *path, const char *text, size_t size, struct fault *fault)
{
  int fd = file_open(path, O_WRONLY | O_CREAT | O_TRUNC);
  if (fd < 0) return fault_set(fault, "%s cannot be created: %s", path, file_reason(errno));
  if (write_all(fd, text, (int64_t)size, -1)) fault_set(fault, "writing %s failed: %s", path, strerror(errno));
  if (!fault->text[0] && fsync(fd)) fault_set(fault, "flushing %s to the disk failed: %s", path, strerror(errno));
  if (close(fd) && !fault->text[0]) fault_set(fault, "closing %s failed: %s", path, strerror(errno));
  return fault->text[0] ? -1 : 0;
}

int manifest_save(struct manifest *manifest, const char *path, struct fault *fault)
{
  fflush(manifest->out);
  uint64_t sum = XXH64(manifest->text, manifest->size, 0);
  size_t body = manifest->size;
  fprintf(manifest->out, LAST_LINE "%016llx\n", (unsigned long long)sum);
  fclose(manifest->out);
  if (write_file(path, manifest->text, manifest->size, fault) == 0) {
    char *back = manifest_load(path, fault);
    if (back && (strlen(back) != body || memcmp(back, manifest->text, body)))
      fault_set(fault, "%s read back differs from what was written", path);
    memory_free(back);
  }
  free(manifest->text);
  return fault->text[0] ? -1 : 0;
}

/* --- reading ----------------------------------------------------------------------------------------------------- */

static char *read_file(const char *path, size_t *size, struct fault *fault)
{
  struct stat st;
  FILE *in = file_stream(path, "r");
  if (!in) {
    fault_set(fault, "%s cannot be opened: %s", path, file_reason(errno));
    return NULL;
  }
  if (fstat(fileno(in), &st) || st.st_size > SIZE_MAX_BYTES) {
    fault_set(fault, "%s is not a manifest", path);
    fclose(in);
    return NULL;
  }
  char *text = memory_alloc("checkpoint", (size_t)st.st_size + 1);
  *size = fread(text, 1, (size_t)st.st_size, in);
  if (ferror(in)) fault_set(fault, "reading %s failed: %s", path, strerror(errno));
  fclose(in);
  return text;
}

char *manifest_load(const char *path, struct fault *fault)
{
  size_t size = 0;
  char expected[LAST_BYTES + 1], *text = read_file(path, &size, fault);
  if (!text) return NULL;
  size_t body = size > LAST_BYTES ? size - LAST_BYTES : 0;
  snprintf(expected, sizeof expected, LAST_LINE "%016llx\n", (unsigned long long)XXH64(text, body, 0));
  if (!fault->text[0] && (body == 0 || memcmp(text + body, expected, LAST_BYTES) || memchr(text, 0, body)))
    fault_set(fault, "%s differs from what was written (checksum)", path);
  if (fault->text[0]) {
    memory_free(text);
    return NULL;
  }
  text[body] = 0;
  return text;
}

const char *manifest_value(const char *text, const char *from, const char *name, size_t *length)
{
  size_t n = strlen(name);
  const char *line = from ? strchr(from, '\n') : text;
  for (; line && *line; line = strchr(line, '\n')) {
    line += *line == '\n';
    if (strncmp(line, name, n) || strncmp(line + n, " =", 2)) continue;
    line += n + 2;
    line += *line == ' ';
    *length = strcspn(line, "\n");
    return line;
  }
  return NULL;
}

static int read_item(const char *text, const struct item *item, struct fault *fault)
{
  size_t length;
  const char *at = manifest_value(text, NULL, item->name, &length), *end = at ? at + length : NULL;
  for (int n = 0; n < item->count; n++) {
    char *next = NULL;
    double real = 0;
    long long whole = 0;
    if (at && (item->kind == ITEM_WHOLE || item->kind == ITEM_LONG)) whole = strtoll(at, &next, 10);
    else if (at) real = strtod(at, &next);
    if (!at || next == at || next > end)
      return fault_set(fault, "the manifest has no numbers named %s: another version of this program wrote it",
                       item->name);
    at = next;
    switch (item->kind) {
    case ITEM_WHOLE: ((int *)item->at)[n] = (int)whole; break;
    case ITEM_LONG: ((long long *)item->at)[n] = whole; break;
    case ITEM_REAL: ((double *)item->at)[n] = real; break;
    case ITEM_FLOAT: ((float *)item->at)[n] = (float)real; break;
    }
  }
  return 0;
}

int items_read(const char *text, const struct item *item, int count, struct fault *fault)
{
  for (int k = 0; k < count; k++)
    if (read_item(text, &item[k], fault)) return -1;
  return 0;
}

int manifest_long(const char *text, const char *name, long long *x, struct fault *fault)
{
  const struct item item = {name, ITEM_LONG, 1, x};
  return items_read(text, &item, 1, fault);
}
