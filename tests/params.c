/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "backend/backend.h"
#include "params/params.h"
#include "particles/particles.h"

#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tap.h"

static const char file[] = "params-test.ini";

static void write_bytes(const char *name, const char *text, size_t size)
{
  FILE *out = fopen(name, "w");
  if (!out || fwrite(text, 1, size, out) != size || fclose(out)) {
    perror(name);
    exit(99);
  }
}

static int read_text(const char *text, struct params *params, struct fault *fault)
{
  fault->text[0] = 0;
  write_bytes(file, text, strlen(text));
  return params_read(params, file, NULL, 0, fault);
}

/* A file that is refused: the sentence starts with `where` after the file's name, and `parts` are in it. */
static const struct bad_file {
  const char *text, *where, *parts[3]; /* one part at least */
} bad_files[] = {
    {"[Gravty]\n", ":1: ", {"unknown section [Gravty]", "[Gravity]?"}},
    {"[Qqqqqqqqq]\n", ":1: ", {"unknown section", "there are Input, Output,"}},
    {"\n[Gravity]\nSofening = 1\n", ":3: ", {"unknown parameter 'Sofening' in [Gravity]", "did you mean 'Softening'?"}},
    {"[Gravity]\nsoftening = 1\n", ":2: ", {"'softening'", "did you mean 'Softening'?"}},
    {"[Gravity]\nOutputDir = x\n", ":2: ", {"it belongs in [Output]"}},
    {"[Output]\nXdmf = on\n",
     ":2: ",
     {"unknown parameter 'Xdmf' in [Output]", "was removed", "espalier-xdmf SNAPSHOT"}},
    {"[Gravity]\nOutputDr = x\n", ":2: ", {"did you mean 'OutputDir' in [Output]?"}},
    {"Softening = 1\n", ":1: ", {"before any [Section]", "it belongs in [Gravity]"}},
    {"[Gravity]\nSoftening = 1\nMaxLeafSize = 8\nSoftening = 1\n", ":4: ", {"Softening is given twice", "line 2"}},
    {"[Gravity]\nMaxLeafSize = 8\n[Time]\n[Gravity]\nMaxLeafSize = 8\n", ":5: ", {"given twice", "line 2"}},
    {"[Gravity]\nSoftening = 1\n  Softening = 2\n", ":3: ", {"given twice", "line 2"}},
    {"[Gravity] Softening = 1\n", ":1: ", {"expected [Section] and nothing else"}},
    {"[Gravity\nSoftening = 1\n", ":1: ", {"expected [Section]"}},
    {"[]\n", ":1: ", {"unknown section []"}},
    {"[Gravity]\nSoftening\n", ":2: ", {"expected 'Name = value', found 'Softening'"}},
    {"[Gravity]\n= 1\n", ":2: ", {"expected 'Name = value'"}},
    {"[Gravity]\nSoftening =\n", ":2: ", {"expected a number at least 0 (length), found ''"}},
    {"[Gravity]\nSoftening = # 1\n", ":2: ", {"expected a number at least 0 (length), found ''"}},
    {"[Gravity]\nSoftening = 1.0x\n", ":2: ", {"[Gravity] Softening", "found '1.0x'"}},
    {"[Gravity]\nSoftening = 1 2\n", ":2: ", {"found '1 2'"}},
    {"[Gravity]\nSoftening = 1,5\n", ":2: ", {"found '1,5'"}},
    {"[Gravity]\nSoftening = 0x10\n", ":2: ", {"found '0x10'"}},
    {"[Gravity]\nSoftening = nan\n", ":2: ", {"expected a number", "found 'nan'"}},
    {"[Gravity]\nSoftening = inf\n", ":2: ", {"found 'inf'"}},
    {"[Gravity]\nSoftening = 1e999\n", ":2: ", {"found '1e999'"}},
    {"[Gravity]\nSoftening = 1e-999\n", ":2: ", {"found '1e-999'"}},
    {"[Gravity]\nErrTolMultipole = 0\n", ":2: ", {"expected a number above 0", "found '0'"}},
    {"[Accuracy]\nAccuracy = standrd\n",
     ":2: ",
     {"Accuracy = standrd: expected coarse, standard, fine, finest, or", "did you mean 'standard'?"}},
    {"[Accuracy]\nAccuracy = 1\n", ":2: ", {"Accuracy = 1: expected coarse", "a number from 1e-12 to 0.1"}},
    {"[Accuracy]\nAccuracy = 1e-13\n", ":2: ", {"a number from 1e-12 to 0.1"}},
    {"[Accuracy]\nAccuracy =\n", ":2: ", {"Accuracy = '': expected coarse"}},
    {"[Gravity]\nSoftening = -1\n", ":2: ", {"found '-1'"}},
    {"[Gravity]\nErrTolTheta = 1.5\n", ":2: ", {"expected a number above 0, at most 1, found '1.5'"}},
    {"[Split]\nRQuantile = 1\n", ":2: ", {"expected a number from 0.01 to 0.99, found '1'"}},
    {"[Output]\nTimeBetSnapshot = -1\n", ":2: ", {"expected a number at least 0 (time), found '-1'"}},
    {"[Time]\nTimeBegin = -1e301\n", ":2: ", {"expected a number that is finite"}},
    {"[Gravity]\nMultipoleOrder = 3\n", ":2: ", {"expected a whole number from 0 to 2, found '3'"}},
    {"[Gravity]\nMaxLeafSize = 3.5\n", ":2: ", {"expected a whole number from 1 to 256", "found '3.5'"}},
    {"[Gravity]\nMaxLeafSize = 99999999999999999999\n", ":2: ", {"expected a whole number from 1 to 256"}},
    {"[Steps]\nScheme = blok\n",
     ":2: ",
     {"expected one of block, shared or auto, found 'blok'", "did you mean 'block'?"}},
    {"[Split]\nMode = Hybrid\n", ":2: ", {"hybrid, tree or auto", "did you mean 'hybrid'?"}},
    {"% GADGET\n", ":1: ", {"found '% GADGET'", "a parameter file of GADGET", "espalier params --ini"}},
    {"%n = 1\n", ":1: ", {"found '%n = 1'", "a parameter file of GADGET"}},
    {"InitCondFile  ics.dat\n", ":1: ", {"a parameter file of GADGET", "InitCondFile = value belongs in [Input]"}},
    {"\nErrTolIntAccuracy\t0.025\n", ":2: ", {"a parameter file of GADGET", "ErrTolIntAccuracy is Eta in [Steps]"}},
    {"SofteningComovingType1 0.1\n",
     ":1: ",
     {"a parameter file of GADGET", "is Softening or SofteningType0 ... SofteningType5 in [Gravity]"}},
    {"SofteningHalo 0.1\n", ":1: ", {"a parameter file of GADGET", "SofteningHalo = value belongs in [Gravity]"}},
    {"[Gravity]\nSofteningBulge = 1\nSofteningType3 = 1\n", ":3: ", {"SofteningType3 is given twice", "line 2"}},
    {"[Gravity]\nSofteningBndry = -1\n", ":2: ", {"SofteningBndry: expected a number at least 0 (length)"}},
    {"[Gravity]\nSofteningType6 = 1\n", ":2: ", {"unknown parameter 'SofteningType6'"}},
    {"[Gravity]\nSoftening = 0\nSofteningType1 = 1\n[Split]\nMode = auto\n",
     ":2: ",
     {"Softening = 0 and SofteningType1 = 1 (line 3)"}},
    {"[Time]\nBoxSize = 100\n", ":2: ", {"unknown parameter 'BoxSize' in [Time]", "of GADGET", "boundaries are open"}},
    {"\211HDF\r\n\032\n",
     "",
     {" is an HDF5 file; expected a parameter file", "params --ini", "InitCondFile = params-test.ini"}},
    {"\xff\xfe[", ":1: ", {"text in UTF-16: save it as UTF-8"}},
    {"", "", {"expected parameters, found none"}},
    {"# nothing\n; here\n[Time]\n", "", {"expected parameters, found none"}},
    {"[Time]\nTimeMax = \x01\n", ":2: ", {"byte 0x01", "not a text file"}},
    {"[Time]\nTimeMax = 0\n", ":2: ", {"TimeMax = 0 and TimeBegin = 0 (default)", "expected TimeMax above TimeBegin"}},
    {"[Output]\nOutputDir =\n", ":2: ", {"OutputDir = ''", "expected a folder"}},
    {"[Output]\nSnapshotFileBase =\n", ":2: ", {"SnapshotFileBase = ''"}},
    {"[Output]\nSnapshotFileBase = a.b\n", ":2: ", {"expected a name without '.'"}},
    {"[Output]\nSnapshotFileBase = a/b\n", ":2: ", {"'/'"}},
    {"[Output]\nTimeBetSnapshot = 1\nOutputListFilename = x\n",
     ":2: ",
     {"TimeBetSnapshot = 1 and OutputListFilename", "OutputListFilename = x (line 3)", "not both"}},
    {"[Split]\nR1 = 2\nR2 = 2\n", ":3: ", {": R2 = 2 and R1 = 2 (line 2)", "expected R2 above R1"}},
    {"[Split]\nR2 = 2\n", ":2: ", {": R2 = 2 and R1 = 0 (default)", "expected R1 above 0"}},
    {"[Split]\nSoftStep = 0.2\n[Time]\nMaxSizeTimestep = 0.1\n",
     ":2: ",
     {"SoftStep = 0.2", "MaxSizeTimestep = 0.1", "caps"}},
    {"[Steps]\nCriterion = pairs\n[Split]\nMode = tree\n",
     ":2: ",
     {"Criterion = pairs", "Mode = tree (line 4)", "expected Mode = hybrid"}},
    {"[Steps]\nCriterion = pairs\nScheme = shared\n",
     ":2: ",
     {"Criterion = pairs", "Scheme = shared (line 3)", "expected Scheme = block"}},
    {"[Steps]\nCriterion = pairs\nIntegrator = hermite\n",
     ":2: ",
     {"Criterion = pairs and Integrator = hermite (line 3)", "its own criterion"}},
    {"[Accuracy]\nRepeatable = on\n[Domain]\nBalance = time\n",
     ":2: ",
     {"Repeatable = on and Balance = time (line 4)", "measured seconds"}},
    {"[Accuracy]\nRepeatable = on\n[Device]\nTuning = on\n",
     ":2: ",
     {"Repeatable = on and Tuning = on (line 4)", "measured seconds"}},
    {"[Gravity]\nSoftening = 0\n[Steps]\nIntegrator = leapfrog\n",
     ":2: ",
     {"Softening = 0 and Integrator = leapfrog (line 4)", "Integrator = hermite or"}},
    {"[Steps]\nFixedStep = 0.1\nScheme = block\n",
     ":2: ",
     {"FixedStep = 0.1", "Scheme = block (line 3)", "expected Scheme = shared"}},
    {"[Steps]\nFixedStep = 0.1\nScheme = shared\n[Split]\nMode = hybrid\n",
     ":2: ",
     {"SoftStep = 0 (default)", "power of two"}},
    {"[Steps]\nFixedStep = 0.1\nScheme = shared\n[Split]\nMode = hybrid\nSoftStep = 0.3\n",
     ":2: ",
     {"SoftStep = 0.3", "power of two"}},
    {"[Steps]\nFixedStep = 0.1\nScheme = shared\n[Split]\nSoftStep = 0.05\n",
     ":2: ",
     {"SoftStep = 0.05", "power of two"}},
    {"[Steps]\nFixedStep = 0.1\nScheme = shared\n[Split]\nSoftStep = 0.3\nMode = tree\n",
     ":2: ",
     {"SoftStep = 0.3", "power of two"}},
    {"[Steps]\nFixedStep = 0.1\nScheme = shared\n[Split]\nMode = tree\n[Time]\nMaxSizeTimestep = 0.5\n",
     ":2: ",
     {"MaxSizeTimestep = 0.5", "power of two"}},
    {"[Steps]\nFixedStep = 0.05\nScheme = shared\n[Split]\nMode = auto\n[Time]\nMaxSizeTimestep = 0.32\n",
     ":2: ",
     {"MaxSizeTimestep = 0.32", "power of two"}},
    {"[Steps]\nFixedStep = 1e-8\nScheme = shared\n[Split]\nSoftStep = 0.33554432\n",
     ":2: ",
     {"SoftStep = 0.33554432", "2^24"}},
};

static int has_parts(const char *text, const char *where, const char *const parts[3])
{
  char start[100];
  snprintf(start, sizeof start, "%s%s", file, where);
  int good = strncmp(text, start, strlen(start)) == 0;
  for (int i = 0; i < 3 && parts[i]; i++) good = good && strstr(text, parts[i]);
  return good;
}

static void check_bad_files(void)
{
  for (size_t i = 0; i < sizeof bad_files / sizeof *bad_files; i++) {
    struct params p;
    struct fault f;
    int refused = read_text(bad_files[i].text, &p, &f) == -1,
        good = refused && has_parts(f.text, bad_files[i].where, bad_files[i].parts);
    char what[200];
    snprintf(what, sizeof what, "refused, file %zu: %s", i + 1, bad_files[i].parts[0] ? bad_files[i].parts[0] : "");
    tap_ok(good, what);
    if (!good) printf("# %s\n", refused ? f.text : "it was taken");
  }
}

static void check_good_file(void)
{
  struct params p;
  struct fault f;
  const char *text =
      "\xef\xbb\xbf; a comment\r\n[Gravity]\r\n  Softening = 2.5e-1   # after the value\r\n\tMaxLeafSize=8;9\r\n";
  tap_ok(read_text(text, &p, &f) == -1 && strstr(f.text, "found '8;9'"),
         "a semicolon starts a comment only after a blank");
  text = "\xef\xbb\xbf; a comment\r\n[Gravity]\r\n  Softening = 2.5e-1   # after the value\r\n\tMaxLeafSize=8 "
         ";9\r\n[Output]\n"
         "OutputDir = a b:c=d\n[Gravity]\nMaxGroupSize : 64";
  int taken = read_text(text, &p, &f) == 0;
  tap_ok(taken && p.Softening == 0.25 && p.MaxLeafSize == 8 && p.MaxGroupSize == 64 &&
             strcmp(p.OutputDir, "a b:c=d") == 0,
         "byte order mark, carriage returns, comments, indentation and a last line without an end");
  if (!taken) printf("# %s\n", f.text);
  tap_ok(read_text("[Output]\nXdmf = off\n[Gravity]\nMaxLeafSize = 9\n", &p, &f) == 0 && p.MaxLeafSize == 9,
         "a parameter of earlier versions whose value asks for nothing");
  text = "[Steps]\nFixedStep = 0.0013\nScheme = shared\n[Split]\nSoftStep = 0.0052\nR1 = 0.1\nR2 = "
         "0.25\n[Time]\nMaxSizeTimestep = 0.0052\n";
  tap_ok(read_text(text, &p, &f) == 0 && p.Scheme == SCHEME_SHARED && p.R2 == 0.25,
         "a fixed step that is a quarter of the soft step");
}

static void check_lengths(void)
{
  struct params p;
  struct fault f;
  char text[6000], value[PARAM_TEXT + 1];
  memset(value, 'x', PARAM_TEXT);
  value[PARAM_TEXT - 1] = 0;
  snprintf(text, sizeof text, "[Output]\nOutputDir = %s   ; the longest\n", value);
  tap_ok(read_text(text, &p, &f) == 0 && strcmp(p.OutputDir, value) == 0, "a value of 511 characters");
  snprintf(text, sizeof text, "[Output]\nOutputDir = %sx\n", value);
  tap_ok(read_text(text, &p, &f) == -1 &&
             strstr(f.text, ":2: [Output] OutputDir: expected at most 511 characters, found 512"),
         "a value of 512 is refused");
  snprintf(text, sizeof text, "[Output]\n%s = x\n", value);
  tap_ok(read_text(text, &p, &f) == -1 && strstr(f.text, ":2: unknown parameter 'xxx"), "so is a name of 511");
  snprintf(text, sizeof text, "[%s]\n", value);
  tap_ok(read_text(text, &p, &f) == -1 && strstr(f.text, ":1: unknown section [xxx"), "and a section of 511");
  memset(text, 'x', 5000);
  text[5000] = 0;
  tap_ok(read_text(text, &p, &f) == -1 && strstr(f.text, ":1: a line of more than 4095 characters"),
         "and a line of 5000");
  f.text[0] = 0;
  write_bytes(file, "[Time]\nTimeMax = 1\0002\n", 21);
  tap_ok(params_read(&p, file, NULL, 0, &f) == -1 && strstr(f.text, ":2: byte 0x00 (NUL)"), "and a zero byte");
  static const char wide[3][21] = {"\xff\xfe[\0T\0i\0m\0e\0]\0\n", "\xfe\xff\0[\0T\0i\0m\0e\0]\0\n\0",
                                   "[\0T\0i\0m\0e\0]\0\n\0#\0\n"};
  for (int k = 0; k < 3; k++) {
    f.text[0] = 0;
    write_bytes(file, wide[k], 15);
    tap_ok(params_read(&p, file, NULL, 0, &f) == -1 && strstr(f.text, ":1: this is text in UTF-16: save it as UTF-8"),
           "and text in UTF-16");
    if (!strstr(f.text, "UTF-16")) printf("# %s\n", f.text);
  }
}

/* Pipes of a shell are read; what could wait for ever is refused at once (an alarm ends the test otherwise). */
static void check_pipes(void)
{
  struct params p;
  struct fault f = {""};
  char name[64];
  int ends[2];
  static const char text[] = "[Gravity]\nSoftening = 0.125\n";
  if (pipe(ends) || write(ends[1], text, sizeof text - 1) < 0 || close(ends[1])) exit(99);
  snprintf(name, sizeof name, "/dev/fd/%d", ends[0]);
  tap_ok(params_read(&p, name, NULL, 0, &f) == 0 && p.Softening == 0.125, "a parameter file from a pipe");
  close(ends[0]);
  unlink(file);
  if (mkfifo(file, 0600)) exit(99);
  alarm(60);
  tap_ok(params_read(&p, file, NULL, 0, &f) == -1 && strstr(f.text, "expected a parameter file, found a FIFO"),
         "a FIFO");
  f.text[0] = 0;
  tap_ok(params_read(&p, "/dev/zero", NULL, 0, &f) == -1 && strstr(f.text, "expected a parameter file, found a device"),
         "a device");
  alarm(0);
  unlink(file);
}

static void check_overrides(void)
{
  struct params p;
  struct fault f = {""};
  struct param_origin origin;
  const char *good[] = {"Gravity:Softening=0.5", "Output:OutputDir=a:b=c", "Gravity:Softening=0.75"};
  write_bytes(file, "[Gravity]\nSoftening = 2\nMaxLeafSize = 4\n", 40);
  tap_ok(params_read_origin(&p, file, good, 3, &origin, &f) == 0 && p.Softening == 0.75 &&
             strcmp(p.OutputDir, "a:b=c") == 0,
         "-P wins over the file, the last over the first");
  tap_ok(origin.line[param_find("Gravity", "Softening")] == ORIGIN_OPTION &&
             origin.line[param_find(NULL, "MaxLeafSize")] == 3 &&
             origin.line[param_find(NULL, "TimeMax")] == ORIGIN_DEFAULT,
         "where the values came from");
  tap_ok(params_read(&p, NULL, good, 1, &f) == 0 && p.Softening == 0.5 && p.MaxLeafSize == 16, "-P without a file");
  static const char *const bad[][2] = {
      {"Gravity:Softening", "-P Gravity:Softening: expected Section:Name=value"},
      {"Softening=1", "expected Section:Name=value"},
      {"Gravty:Softening=1", "unknown section [Gravty]; did you mean [Gravity]?"},
      {"Gravity:Softning=1", "unknown parameter 'Softning' in [Gravity]; did you mean 'Softening'?"},
      {"Time:Softening=1", "it belongs in [Gravity]"},
      {"Gravity:Softening=x", "-P Gravity:Softening=x: expected a number at least 0"},
      {"Gravity:Softening= 1 ", "expected a number at least 0"},
      {"Time:TimeMax=-1", "TimeMax = -1 (-P) and TimeBegin = 0 (default)"},
      {"Output:OutputDir=a #b", "expected text that can stand in a parameter file"},
      {"Output:OutputDir=a\nb", "expected a value of one line, found byte 0x0a (a line's end) behind it"},
  };
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    f.text[0] = 0;
    int good_sentence = params_read(&p, file, bad[i], 1, &f) == -1 && strstr(f.text, bad[i][1]);
    char what[200];
    snprintf(what, sizeof what, "refused: -P %.12s: %s", bad[i][0], bad[i][1]);
    tap_ok(good_sentence, what);
    if (!good_sentence) printf("# %s\n", f.text);
  }
}

static void check_files(void)
{
  struct params p;
  struct fault f = {""};
  tap_ok(params_read(&p, "params-tset.ini", NULL, 0, &f) == -1 && strstr(f.text, "No such file") &&
             strstr(f.text, "did you mean 'params-test.ini'?"),
         "a missing file, and the nearest name");
  f.text[0] = 0;
  tap_ok(params_read(&p, ".", NULL, 0, &f) == -1 && strstr(f.text, "found a folder"), "a folder in place of the file");
  f.text[0] = 0;
  params_defaults(&p);
  tap_ok(params_check_files(&p, NULL, 1, &f) == -1 && strstr(f.text, "InitCondFile = ''"), "a run needs InitCondFile");
  f.text[0] = 0;
  write_bytes("params-test.ic.0", "x", 1);
  snprintf(p.InitCondFile, sizeof p.InitCondFile, "params-test.ic");
  tap_ok(params_check_files(&p, NULL, 1, &f) == 0, "... which may be the first of several files");
  unlink("params-test.ic.0");
  tap_ok(params_check_files(&p, NULL, 1, &f) == -1 && strstr(f.text, "InitCondFile = params-test.ic") &&
             strstr(f.text, "No such file"),
         "... and must be there");
  f.text[0] = 0;
  snprintf(p.InitCondFile, sizeof p.InitCondFile, "%s", file);
  snprintf(p.OutputListFilename, sizeof p.OutputListFilename, ".");
  tap_ok(params_check_files(&p, NULL, 1, &f) == -1 && strstr(f.text, "OutputListFilename = .") &&
             strstr(f.text, "found a folder"),
         "the output list is a file");
}

static void check_round_trip(void)
{
  struct params p, back;
  struct fault f = {""};
  params_defaults(&p);
  p.Softening = 1.0 / 3;
  p.TimeMax = 1e-5;
  p.UnitLength_in_cm = 3.0856775814913673e21;
  p.MaxLeafSize = 7;
  p.Kernel = SPLIT_DLL;
  snprintf(p.OutputDir, sizeof p.OutputDir, "a path/with = signs: and;semicolons#hashes");
  FILE *out = fopen(file, "w");
  params_write_ini(out, &p, NULL);
  fclose(out);
  tap_ok(params_read(&back, file, NULL, 0, &f) == 0 && memcmp(&p, &back, sizeof p) == 0,
         "the values written are read back bit by bit");
  if (f.text[0]) printf("# %s\n", f.text);
  params_defaults(&p);
  out = fopen(file, "w");
  params_write_ini(out, NULL, NULL);
  fclose(out);
  tap_ok(params_read(&back, file, NULL, 0, &f) == 0 && memcmp(&p, &back, sizeof p) == 0,
         "the example file holds the defaults");
}

/* The names of all choices, and their enums. */
static const struct {
  const char *section, *name, *text;
  int value;
} choices[] = {
    {"Input", "ICFormat", "auto", FORMAT_AUTO},
    {"Input", "ICFormat", "gadget1", FORMAT_GADGET1},
    {"Input", "ICFormat", "gadget2", FORMAT_GADGET2},
    {"Input", "ICFormat", "hdf5", FORMAT_HDF5},
    {"Input", "ICFormat", "tipsy", FORMAT_TIPSY},
    {"Input", "ICFormat", "ascii", FORMAT_ASCII},
    {"Cosmology", "Comoving", "off", COMOVING_OFF},
    {"Cosmology", "Comoving", "on", COMOVING_ON},
    {"Accuracy", "Repeatable", "off", REPEATABLE_OFF},
    {"Accuracy", "Repeatable", "on", REPEATABLE_ON},
    {"Output", "CommLog", "off", COMM_LOG_OFF},
    {"Output", "CommLog", "phases", COMM_LOG_PHASES},
    {"Output", "CommLog", "peers", COMM_LOG_PEERS},
    {"Output", "Analysis", "off", 0},
    {"Output", "Analysis", "on", 1},
    {"Output", "Cluster", "off", 0},
    {"Output", "Cluster", "on", 1},
    {"Output", "Projections", "off", 0},
    {"Output", "Projections", "on", 1},
    {"Output", "ProjectionCentre", "origin", PROJECTION_ORIGIN},
    {"Output", "ProjectionCentre", "density", PROJECTION_DENSITY},
    {"Output", "CommTrace", "off", 0},
    {"Output", "CommTrace", "on", 1},
    {"Output", "SubstepLog", "off", 0},
    {"Output", "SubstepLog", "on", 1},
    {"Output", "TunerLog", "off", 0},
    {"Output", "TunerLog", "on", 1},
    {"Output", "Groups", "off", GROUPS_OFF},
    {"Output", "Groups", "on", GROUPS_ON},
    {"Checkpoints", "CheckpointAtEnd", "off", 0},
    {"Checkpoints", "CheckpointAtEnd", "on", 1},
    {"Gravity", "TypeOfOpeningCriterion", "acceleration", MAC_ACCELERATION},
    {"Gravity", "TypeOfOpeningCriterion", "multipole", MAC_MULTIPOLE},
    {"Gravity", "TypeOfOpeningCriterion", "angle", MAC_ANGLE},
    {"Units", "System", "given", SYSTEM_GIVEN},
    {"Units", "System", "galaxy", SYSTEM_GALAXY},
    {"Units", "System", "cluster", SYSTEM_CLUSTER},
    {"Units", "System", "pc-myr", SYSTEM_PC_MYR},
    {"Units", "System", "nbody", SYSTEM_NBODY},
    {"Units", "System", "gadget", SYSTEM_GADGET},
    {"Gravity", "WalkMethod", "groups", METHOD_GROUPS},
    {"Gravity", "WalkMethod", "next-more", METHOD_NEXT_MORE},
    {"Gravity", "WalkMethod", "direct", METHOD_DIRECT},
    {"Gravity", "WalkMethod", "auto", METHOD_AUTO},
    {"Split", "Mode", "hybrid", MODE_HYBRID},
    {"Split", "Mode", "tree", MODE_TREE},
    {"Split", "Mode", "auto", MODE_AUTO},
#define KERNEL(kernel, name) {"Split", "Kernel", name, SPLIT_##kernel},
    SPLIT_KERNELS(KERNEL){"Split", "RadiiByMass", "auto", RADII_AUTO},
    {"Split", "RadiiByMass", "on", RADII_ON},
    {"Split", "RadiiByMass", "off", RADII_OFF},
#define INTEGRATOR(value, name, ...) {"Steps", "Integrator", #name, INTEGRATOR_##value},
    INTEGRATORS(INTEGRATOR){"Steps", "Scheme", "block", SCHEME_BLOCK},
    {"Steps", "Scheme", "shared", SCHEME_SHARED},
    {"Steps", "Scheme", "auto", SCHEME_AUTO},
    {"Steps", "Criterion", "min-av", CRITERION_MIN_AV},
    {"Steps", "Criterion", "a", CRITERION_A},
    {"Steps", "Criterion", "pairs", CRITERION_PAIRS},
    {"Collisions", "Action", "off", COLLISIONS_OFF},
    {"Collisions", "Action", "list", COLLISIONS_LIST},
    {"Collisions", "Action", "stop", COLLISIONS_STOP},
    {"Collisions", "Action", "merge", COLLISIONS_MERGE},
    {"Domain", "Balance", "count", BALANCE_COUNT},
    {"Domain", "Balance", "hard", BALANCE_HARD},
    {"Domain", "Balance", "work", BALANCE_WORK},
    {"Domain", "Balance", "time", BALANCE_TIME},
    {"Device", "Backend", "auto", BACKEND_AUTO},
    {"Device", "Backend", "cpu", BACKEND_CPU},
    {"Device", "Backend", "cuda", BACKEND_CUDA},
    {"Device", "Backend", "hip", BACKEND_HIP},
    {"Device", "Transport", "auto", TRANSPORT_AUTO},
    {"Device", "Transport", "staged", TRANSPORT_STAGED},
    {"Device", "Transport", "cuda-mpi", TRANSPORT_CUDA_MPI},
    {"Device", "Transport", "nccl", TRANSPORT_NCCL},
    {"Device", "Tuning", "auto", TUNING_AUTO},
    {"Device", "Tuning", "on", TUNING_ON},
    {"Device", "Tuning", "frozen", TUNING_FROZEN},
};

/* The enums of params.h are in the order of the names. */
static void check_choices(void)
{
  int checked = 0, named = 0, good = 1;
  for (size_t i = 0; i < sizeof choices / sizeof *choices; i++, checked++) {
    struct params p;
    struct fault f = {""};
    int at = param_find(choices[i].section, choices[i].name);
    good = good && at >= 0 && params_set(&p, &param_table[at], choices[i].text, &f) == 0 &&
           *(int *)((char *)&p + param_table[at].offset) == choices[i].value;
  }
  for (int i = 0; i < param_count; i++)
    for (int k = 0; param_table[i].kind == KIND_CHOICE && param_table[i].choices[k]; k++) named++;
  tap_ok(good && checked == named, "every choice has the enum's value");
}

/* Softenings of types by both names, of types that have particles and of others. */
static void check_softenings(void)
{
  struct params p;
  struct fault f = {""};
  double of[PARTICLE_TYPES];
  static const char text[] =
      "[Gravity]\nSoftening = 0.5\nSofteningHalo = 0.25\nSofteningDisk = 2\nSofteningType4 = 0.125\n";
  write_bytes(file, text, sizeof text - 1);
  tap_ok(params_read(&p, file, NULL, 0, &f) == 0 && p.SofteningType1 == 0.25 && p.SofteningType2 == 2 &&
             p.SofteningType4 == 0.125 && params_softening(&p, of) == 0.125 && of[0] == 0.5 && of[1] == 0.25 &&
             of[2] == 2 && of[5] == 0.5 && params_softenings_differ(&p),
         "softenings of types, by GADGET's names too");
  p.run.types = 1 << 1 | 1 << 2;
  tap_ok(params_softening(&p, of) == 0.25 && of[1] == 0.25 && of[2] == 2 && of[4] == 0.25 &&
             params_softenings_differ(&p),
         "types without particles have the smallest softening of the others");
  p.run.types = 1 << 4;
  tap_ok(params_softening(&p, of) == 0.125 && of[0] == 0.125 && !params_softenings_differ(&p),
         "one type with particles has one softening");
}

int main(void)
{
  unlink(file); /* a FIFO that a failed run left */
  check_bad_files();
  check_good_file();
  check_lengths();
  check_pipes();
  check_overrides();
  check_softenings();
  check_files();
  check_round_trip();
  check_choices();
  unlink(file);
  return tap_end();
}
