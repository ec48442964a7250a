/* SPDX-License-Identifier: GPL-3.0-or-later */
/* XDMF, version 2: what ParaView and VisIt need to know to read a snapshot's datasets as points with values. */
#include <config.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "snapshot_parts.h"

enum { NAME = PIECE_NAME };

/* In XML. */
static void put_text(FILE *out, const char *text)
{
  for (; *text; text++) switch (*text) {
    case '<': fputs("&lt;", out); break;
    case '>': fputs("&gt;", out); break;
    case '&': fputs("&amp;", out); break;
    case '"': fputs("&quot;", out); break;
    default: fputc(*text, out);
    }
}

static void put_item(FILE *out, const char *file, int t, const struct column *k, int64_t rows)
{
  const char *kind = k->number == COLUMN_U64 ? "UInt" : "Float";
  fprintf(out, "          <DataItem Format=\"HDF\" NumberType=\"%s\" Precision=\"%d\" Dimensions=\"%lld", kind, k->number == COLUMN_F32 ? 4 : 8,
          (long long)rows);
  if (k->components > 1) fprintf(out, " %d", k->components);
  fputs("\">", out);
  put_text(out, file);
  fprintf(out, ":/PartType%d/%s</DataItem>\n", t, k->name);
}

static void put_grid(FILE *out, const char *file, int t, const struct layout *l)
{
  fprintf(out, "      <Grid Name=\"PartType%d\" GridType=\"Uniform\">\n", t);
  fprintf(out, "        <Topology TopologyType=\"Polyvertex\" NodesPerElement=\"1\" NumberOfElements=\"%lld\"/>\n", (long long)l->total[t]);
  for (int k = 0; k < column_count; k++) {
    const struct column *column = &columns[k];
    if (!layout_has(l, column)) continue;
    if (k == 0)
      fputs("        <Geometry GeometryType=\"XYZ\">\n", out);
    else
      fprintf(out, "        <Attribute Name=\"%s\" AttributeType=\"%s\" Center=\"Node\">\n", column->name, column->components > 1 ? "Vector" : "Scalar");
    put_item(out, file, t, column, l->total[t]);
    fprintf(out, "        </%s>\n", k == 0 ? "Geometry" : "Attribute");
  }
  fputs("      </Grid>\n", out);
}

static void put_all(FILE *out, const char *file, const struct layout *l, double time)
{
  fprintf(out, "<?xml version=\"1.0\"?>\n<Xdmf Version=\"2.1\">\n  <Domain>\n    <Grid Name=\"particles\" GridType=\"Collection\" CollectionType=\"Spatial\">\n"
               "      <Time Value=\"%.17g\"/>\n", time);
  for (int t = 0; t < PARTICLE_TYPES; t++)
    if (l->total[t]) put_grid(out, file, t, l);
  fputs("    </Grid>\n  </Domain>\n</Xdmf>\n", out);
}

int snapshot_xdmf(const char *path, const struct layout *l, const struct snapshot_facts *facts, struct fault *f)
{
  char name[NAME], temporary[NAME];
  const char *slash = strrchr(path, '/');
  size_t length = strlen(path), tail = length > 5 && strcmp(path + length - 5, ".hdf5") == 0 ? 5 : 0;
  snprintf(name, sizeof name, "%.*s.xmf", (int)(length - tail < NAME - 16 ? length - tail : NAME - 16), path);
  snprintf(temporary, sizeof temporary, "%.*s.tmp", NAME - 8, name);
  FILE *out = fopen(temporary, "w");
  if (!out) {
    fault_set(f, "%s cannot be created: %s (the snapshot itself has been written)", temporary, strerror(errno));
    unlink(name);
    return -1;
  }
  put_all(out, slash ? slash + 1 : path, l, facts->time);
  int bad = fflush(out) != 0 || ferror(out) || fsync(fileno(out)) != 0;
  if (fclose(out) != 0 || bad) fault_set(f, "%s cannot be written: %s (the snapshot itself has been)", temporary, strerror(errno));
  else if (rename(temporary, name) != 0) fault_set(f, "%s cannot be renamed to %s: %s (the snapshot itself has been written)", temporary, name, strerror(errno));
  if (f->text[0]) unlink(temporary), unlink(name);
  return f->text[0] ? -1 : 0;
}
