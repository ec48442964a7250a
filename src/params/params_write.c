/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of parameters as a parameter file, as a page and as JSON. */
#include <config.h>
#include <string.h>

#include "params/params.h"

static int opens_section(int i) { return i == 0 || strcmp(param_table[i].section, param_table[i - 1].section) != 0; }

void params_write_ini(FILE *out, const struct params *params, const struct param_origin *origin)
{
  fprintf(out, "# Parameters of %s: %s. Paths are relative to the folder in which the program is started.\n",
          PACKAGE_NAME, params ? "values of this run" : "all, with their defaults");
  fprintf(out, "# Written by '%s'; lines starting with ; or # are comments.\n",
          params ? PACKAGE_NAME : PACKAGE_NAME " params --ini");
  for (int i = 0; i < param_count; i++) {
    const struct param_entry *e = &param_table[i];
    char range[200], value[PARAM_TEXT], note[200];
    param_range(e, range, sizeof range);
    if (params) params_format(params, e, value, sizeof value);
    else snprintf(value, sizeof value, "%s", e->initial);
    if (opens_section(i)) fprintf(out, "\n[%s]\n", e->section);
    fprintf(out, "# %s", e->meaning);
    if (e->unit[0]) fprintf(out, " [%s]", e->unit);
    if (range[0]) fprintf(out, "; values: %s", range);
    int noted = params && params_note(params, e, note, sizeof note);
    const char *comment = noted ? note : origin ? origin->given[i] : "";
    fprintf(out, "\n%s =%s%s%s%s\n", e->name, value[0] ? " " : "", value, comment[0] ? "   # " : "", comment);
  }
}

void params_write_markdown(FILE *out)
{
  fprintf(out,
          "# Parameters\n\n`%s params --markdown` generates this page; a test compares.\n"
          "A parameter file is an ini file; `%s params --ini` prints one with all parameters and their defaults.\n"
          "A parameter that the file does not name has its default.\n"
          "Lines that start with `;` or `#` are comments; so is the rest of a line after ` ;` or ` #`.\n"
          "Paths are relative to the folder in which the program is started.\n"
          "`-P Section:Name=value` on the command line overrides the file.\n"
          "Where a unit is named a number may be followed by another: `50 pc` ([units](units.md#values-with-units)).\n",
          PACKAGE_NAME, PACKAGE_NAME);
  for (int i = 0; i < param_count; i++) {
    const struct param_entry *e = &param_table[i];
    char range[200];
    param_range(e, range, sizeof range);
    if (opens_section(i))
      fprintf(out, "\n## %s\n\n| name | default | values | unit | meaning |\n|---|---|---|---|---|\n", e->section);
    const char *quote = e->initial[0] ? "`" : "";
    fprintf(out, "| %s | %s%s%s | %s | %s | %s |\n", e->name, quote, e->initial, quote, range[0] ? range : "text",
            e->unit, e->meaning);
  }
}

/* Write a string of JSON, without its quotes. Texts of the table have no control characters. */
static void put_json(FILE *out, const char *text)
{
  for (; *text; text++) fprintf(out, "%s%c", strchr("\"\\", *text) ? "\\" : "", *text);
}

void params_write_json(FILE *out)
{
  static const char *const kinds[] = {"real", "whole", "choice", "string"};
  for (int i = 0; i < param_count; i++) {
    const struct param_entry *e = &param_table[i];
    char range[200];
    param_range(e, range, sizeof range);
    const char *const parts[][2] = {{"section", e->section}, {"name", e->name}, {"kind", kinds[e->kind]},
                                    {"default", e->initial}, {"values", range}, {"unit", e->unit},
                                    {"meaning", e->meaning}};
    fprintf(out, "%s\n  {", i ? "," : "[");
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) {
      fprintf(out, "%s\"%s\": \"", k ? ", " : "", parts[k][0]);
      put_json(out, parts[k][1]);
      fputc('"', out);
    }
    fputc('}', out);
  }
  fputs("\n]\n", out);
}
