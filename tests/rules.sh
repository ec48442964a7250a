#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Rules of the project, checked on the sources: which folder may include which, the form of files, and links.
build=$PWD
cd "${srcdir:-.}" || exit 99
number=0 failed=0
# rule TEXT OFFENDERS: holds when there are none.
rule() {
  number=$((number + 1))
  if [ -z "$2" ]; then
    echo "ok $number - $1"
  else
    echo "not ok $number - $1"
    echo "$2" | sed 's/^/# /'
    failed=1
  fi
}
sources() {
  find "$@" \( -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' -o -name '*.def' \) ! -name revision_string.h
}
scripts() {
  find tests tools jobscripts python \( -name '*.sh' -o -name '*.py' -o -name '*.supp' -o -name espalier-convert \
    -o -name espalier-plot -o -name espalier-xdmf -o -name compare-schemes -o -name calibrate-accuracy \
    -o -name espalier-job -o -name scaling -o -name cluster \); ls quickstart; ls .ci/run 2> /dev/null
}
include='^[[:space:]]*#[[:space:]]*include[[:space:]]*[<"]'

rule "src/ and mpi/ include nothing of CUDA" \
  "$(sources src mpi | xargs grep -Hn -E "$include(.*/)?(cuda|nvtx|cub/|thrust/)")"
rule "src/ and mpi/ call nothing of CUDA" \
  "$(sources src mpi | xargs grep -Hn -E '\<cuda[A-Z][A-Za-z]+ *\(|<<<|__global__')"
# ranges.cu is the door of NVTX. Quoted texts do not count.
runtime_names='cuda[A-Z]|hip[A-Z]|cub::|thrust::|rocprim::|<(cuda|hip|cub/|thrust/|rocprim/|nvtx3/)|<<<|asm[^a-z]'
runtime_names="$runtime_names|nvtx[A-Z]|nccl[A-Z]|__builtin_amdgcn"
runtime_names="$runtime_names|__(ballot|shfl|any|all|match|reduce|syncwarp|activemask|popc|ffs|clz|brev|ldg|ldc|stc)"
runtime_names="$runtime_names|__(nanosleep|threadfence)"
rule "gpu/ has names of the device's runtime, of lanes and of assembly in device/runtime.cuh only" "$(sources gpu |
  grep -v -E '^gpu/device/(runtime\.cuh|ranges\.cu)$' | xargs awk -v names="$runtime_names" '
    { line = $0; gsub(/"[^"]*"/, "", line) }
    match(line, "(^|[^A-Za-z0-9_])(" names ")") { print FILENAME ":" FNR ": " $0 }')"
# A folder includes its own headers and those of the folders named here; so there are no circles.
floors='
base
particles    base
params       base particles
tree         base params
gravity      base params
external     base params gravity
backend      base particles params tree gravity
cpu          base particles tree gravity backend
cpu/lists    base particles tree gravity backend cpu
mpi          base params tree backend
mpi/let      base particles tree backend mpi
trace        base mpi
io           base particles params gravity mpi
io/input     base particles params gravity mpi io
io/snapshot  base particles params gravity mpi io io/input
io/convert   base particles params gravity mpi io io/input io/snapshot
ic           base particles gravity mpi
fof          base particles params tree gravity mpi io
ic/galaxy    base particles params gravity mpi ic
system       base particles gravity backend mpi
tuning       base params backend
analysis     base particles params gravity mpi io
step         base particles params tree gravity backend mpi mpi/let system tuning
effects      base particles params gravity external backend mpi system tuning step
scheme       base particles params tree gravity backend mpi system tuning step
settings     base particles params gravity backend mpi system tuning step scheme
job          base params
checkpoint   base particles params mpi io io/snapshot job
check        base gravity backend mpi mpi/let system step scheme
run          base particles params gravity backend mpi trace io/input io/snapshot fof system analysis step scheme
             settings job checkpoint check
study        base particles params tree gravity backend mpi mpi/let trace io/input io/snapshot system tuning step scheme
             settings run
forecast     base particles params tree backend mpi mpi/let trace step settings run study
planning     base particles params gravity backend mpi io/input io/snapshot ic ic/galaxy settings check run study
             forecast
cli          base particles params gravity backend mpi trace checkpoint io/input io/snapshot io/convert ic fof
             ic/galaxy run study forecast planning
api          base particles params gravity check backend mpi io/input io/snapshot ic ic/galaxy system step scheme
             settings run
gpu/device   base particles tree gravity backend
gpu/tree     base particles tree gravity backend gpu/device
gpu/walk     base particles tree gravity backend gpu/device gpu/tree
gpu/hard_walk     base particles tree gravity backend gpu/device gpu/tree gpu/walk
gpu/neighbour_lists  base particles tree gravity backend gpu/device
gpu/direct   base particles tree gravity backend gpu/device gpu/tree gpu/walk
gpu/let      base particles tree gravity backend gpu/device gpu/tree gpu/walk gpu/hard_walk gpu/direct
gpu/exchange base particles tree gravity backend gpu/device gpu/tree gpu/walk gpu/hard_walk gpu/direct gpu/let
gpu/step     base particles tree gravity backend gpu/device gpu/tree gpu/walk gpu/hard_walk gpu/direct gpu/let
             gpu/exchange'
# a line that begins with a space goes on with the one above
floors=$(echo "$floors" | sed -e ':join' -e '$!N' -e 's/\n  */ /' -e 't join' -e 'P' -e 'D')
# Lines "FILE includes HEADER" that the table does not allow.
climbs() {
  sources src mpi gpu | xargs grep -H -o -E '^[[:space:]]*#[[:space:]]*include[[:space:]]*"[^"]+/[^"]+"' |
    awk -F: -v floors="$floors" '
      function folder(path,  p, n) {
        n = split(path, p, "/")
        return p[1] == "gpu" ? p[1] "/" p[2] : n == 3 ? p[1] "/" p[2] : p[1]
      }
      BEGIN {
        n = split(floors, line, "\n")
        for (i = 1; i <= n; i++) { m = split(line[i], w, " "); known[w[1]]; for (k = 2; k <= m; k++) may[w[1], w[k]] }
      }
      { file = $1; sub(/^src\//, "", file)
        header = $2; gsub(/.*include[[:space:]]*"|"/, "", header); sub(/^src\//, "", header)
        a = folder(file); b = folder(header)
        if (a != b && !((a, b) in may) && !($1 == "gpu/device/device.cuh" && header ~ /state\.cuh$/))
          print $1 " includes " header
        if (!(a in known)) print $1 ": no such folder in tests/rules.sh" }' | sort -u
}
rule "folders include only what stands below them" "$(climbs)"
rule "every folder is once in the table, above those that it includes" \
  "$(echo "$floors" | awk 'NF { if ($1 in at) print $1 " twice"; at[$1]
  for (i = 2; i <= NF; i++) if (!($i in at)) print $i " is not above " $1 }')"
rule "include paths name the folder" \
  "$(sources src mpi gpu | xargs grep -Hn -E '^[[:space:]]*#[[:space:]]*include[[:space:]]*"[^/"]+"')"
rule "a folder has at most 30 files" \
  "$(sources src mpi gpu | sed 's,/[^/]*$,,' | sort | uniq -c | awk '$1 > 30 { print $2 ": " $1 " files" }')"
rule "src/io/ uses ranks through comm.h only" "$(sources src/io | xargs grep -Hn -E '"mpi/' | grep -v '"mpi/comm\.h"')"
rule "src/ uses MPI through mpi/ only (but main.c starts it, fault.c ends it, info.c asks its version, io/ writes)" \
  "$(sources src gpu | grep -v -E '^src/((cli/main|base/fault|cli/info)\.c|io/.*)$' |
  xargs grep -Hn -E "$include(mpi|mpi-ext)\\.h|\\<MPI_[A-Z][A-Za-z_]+ *\\(")"
rule "the manual page names every environment variable that the program reads, and no other" \
  "$({ sources src mpi gpu | xargs grep -h -o -E '\<(secure_)?getenv *\("[A-Z_]+"' | sed 's/.*("//; s/"//' | sort -u
    sed -n '/environment\[\] = {/,/^};/s/^ *{"\([A-Z_]*\)".*/\1/p' src/cli/manual.c; } | sort | uniq -c |
      awk '$1 % 2 { print $2 }')"
rule "headers are guarded" "$(sources src mpi gpu tests | grep '\.h$' | xargs grep -L -E '^#ifndef [A-Z0-9_]+_H$')"

rule "every source and script names its licence in its first lines" "$({ sources src mpi gpu tests; scripts
  find m4 -name '*.m4'; ls configure.ac Makefile.am build-aux/revision.sh; } |
  while read -r f; do head -n 2 "$f" | grep -q 'SPDX-License-Identifier: GPL-3.0-or-later' || echo "$f"; done)"
tab=$(printf '\t')
rule "no tab in sources and scripts" "$({ sources src mpi gpu tests; scripts; } | xargs grep -Hn "$tab" | cut -c 1-100)"
rule "no space at the end of a line" \
  "$({ sources src mpi gpu tests; scripts; find . -name local.mk ! -path './build*'
  find doc params -type f \( -name '*.md' -o -name '*.ini' \)
    ls configure.ac Makefile.am README.md ChangeLog AUTHORS CITATION.cff; } | xargs grep -Hn "[ $tab]\$" |
      cut -c 1-100)"
# Lines "FILE: N lines" of the files on stdin that are longer than $1.
longer() { xargs wc -l | awk -v limit="$1" '$1 > limit && $2 != "total" { print $2 ": " $1 " lines" }'; }
# A type of two sources with one name is two types for each compiler, but one for the linker, which merges templates of
# both.
rule "types of gpu/ have names of their own" \
  "$(sources gpu | xargs grep -h -o -E '^(struct|enum|union) [a-z_0-9]+ \{' | sort | uniq -d)"
rule "no source is longer than 560 lines" "$(sources src mpi gpu | longer 560)"
rule "no test or script is longer than 640 lines" "$({ sources tests; scripts; } | longer 640)"
# Terms that the field does not use. Exceptions: the columns strays and card_bytes of tables, a section of checkpoints,
# and two fixed phrases.
old_terms='cards?|strays?|strayed|parcels?|sprouts?|uproot(ed|s)?|plant(s|ed|ing)?|nobody|somebody|anybody|everybody'
old_terms="$old_terms|whoever|anew|wish(es|ed)?|news|famil(y|ies)|knobs?|crowd(s|ed)?|go(es)? home|patience"
old_terms="$old_terms|going home|ways ahead|hears?|foresees?|foreseen|mend(ed|s)?|told|owed|settles?|stamps?|labour"
rule "old terms do not occur: doc/glossary.md has the standard ones" \
  "$({ sources src mpi gpu; find . -maxdepth 1 -name '*.md'; find doc -name '*.md'; } |
  xargs awk -v terms="$old_terms" '
    { line = tolower($0);
    gsub(/x\(strays,|strays`?(, ?| and `)remakes|card_bytes|own\.planting|time stamps|family 26/, "", line)
      if (match(line, "(^|[^a-z])(" terms ")([^a-z]|$)")) print FILENAME ":" FNR ": " substr(line, RSTART, RLENGTH) }')"
rule "scripts may be executed" \
  "$(find quickstart tools/espalier-convert tools/espalier-plot tools/espalier-xdmf tools/compare-schemes \
    tools/calibrate-accuracy tests/slurm jobscripts -type f ! -name "*.md" ! -name "*.py" ! -name "*.mk" ! -perm -u+x)"

# Statements, functions, structs and includes, by a script of their own.
code_rule() { rule "$1" "$(BUILD=$build "${python:-python3}" tests/rules_code.py "$2" 2>&1)"; }
if python3 -c 'import pathlib' 2> /dev/null; then
  code_rule "a line has at most 120 columns" columns
  code_rule "no comma joins two statements" commas
  code_rule "a function has at most 60 lines" functions
  code_rule "a struct has at most 25 members" members
  code_rule "no header includes itself by way of others" circles
  code_rule "no source needs itself by way of others of its folder" object_circles
  code_rule "expansion, external fields and the frame are called through step/effects.h only" effects
  code_rule "integrators are named in their table, src/cpu/lists and gpu/neighbour_lists only" integrators
  code_rule "which scheme is in use is asked in src/scheme only" schemes
  code_rule "step/ and scheme/ begin phases of timers through step/timed.h only" timers
fi
# Other versions of the formatter differ in details.
if clang-format-14 --version > /dev/null 2>&1; then
  rule "the code is formatted as .clang-format says (clang-format-14 -i FILE)" \
    "$({ sources src mpi gpu; find tests -name '*.[ch]'; } | grep -v '\.def$' | xargs clang-format-14 --dry-run 2>&1 |
    grep -o '^[^:]*:[0-9]*' | sort -u | head -n 20)"
fi

# Automake names a test's log without .sh and .mpi: of two with the same name only one would run.
rule "tests have names of their own, without .sh and .mpi" \
  "$(awk '/^(unit|mpi|script)_tests =/ { on = 1 }
      on && /%D%\// { name = $1; sub(/.*\//, "", name); sub(/\.(sh|mpi)$/, "", name); print name }
      !/\\$/ { on = 0 }' tests/local.mk | sort | uniq -d)"

# [text](target) and ![text](target), without what leads into the net or into the page itself
links() {
  grep -n -o -E '\]\([^)]+\)' "$1" | sed -E 's/^([0-9]+):\]\(([^)#]*).*\)?$/\1 \2/; s/\)$//' |
    while read -r line target; do
      case $target in '' | http:* | https:* | mailto:*) continue ;; esac
      [ -e "$(dirname "$1")/$target" ] || echo "$1:$line: $target"
    done
}
rule "pages have at most 55,000 words, and none more than 6,000" "$(find doc -name '*.md' -exec wc -w {} + |
  awk '$1 > ($2 == "total" ? 55000 : 6000) { print $2 ": " $1 " words" }')"
rule "links between pages lead to files" \
  "$(find README.md doc gpu jobscripts packaging params tools tests -name '*.md' |
  while read -r f; do links "$f"; done)"
echo "1..$number"
exit $failed
