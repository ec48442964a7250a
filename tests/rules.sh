#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The house's rules, read from the sources: who may know whom, how files look, that links lead somewhere.
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
sources() { find "$@" \( -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' -o -name '*.def' \) ! -name revision_string.h; }
scripts() { find tests tools jobscripts \( -name '*.sh' -o -name '*.py' -o -name '*.supp' -o -name espalier-plot -o -name espalier-job -o -name scaling -o -name cluster \); ls quickstart; ls .ci/run 2> /dev/null; }
include='^[[:space:]]*#[[:space:]]*include[[:space:]]*[<"]'

rule "src/ and mpi/ include nothing of CUDA" "$(sources src mpi | xargs grep -Hn -E "$include(.*/)?(cuda|nvtx|cub/|thrust/)")"
rule "src/ and mpi/ call nothing of CUDA" "$(sources src mpi | xargs grep -Hn -E '\<cuda[A-Z][A-Za-z]+ *\(|<<<|__global__')"
mpi_headers=$(cd mpi && find . -name "*.h" | sed "s,^\\./,,; s,[.],\\\\.," | paste -s -d "|")
rule "gpu/ includes nothing of mpi/" "$(sources gpu | xargs -r grep -Hn -E "$include(.*/)?($mpi_headers|mpi\\.h)[>\"]")"
rule "src/cpu/ includes nothing of mpi/" "$(sources src/cpu | xargs grep -Hn -E "$include(.*/)?($mpi_headers|mpi\\.h)[>\"]")"
rule "src/io/ knows ranks through comm.h, and no forces" "$(sources src/io | xargs grep -Hn -E "$include(.*/)?($mpi_headers|sim\\.h|backend\\.h|octree\\.h|mac\\.h|split\\.h)[>\"]" |
  grep -v '"comm\.h"')"
rule "src/ knows MPI through mpi/ only (main.c starts it, fault.c ends it, info.c asks for its version, src/io writes with it)" \
  "$(sources src | grep -v -E '^src/((main|fault|info)\.c|io/.*)$' | xargs grep -Hn -E "$include(mpi|mpi-ext)\\.h|\\<MPI_[A-Z][A-Za-z_]+ *\\(")"
rule "the manual page names every environment variable that the program reads, and no other" \
  "$({ sources src mpi gpu | xargs grep -h -o -E '\<(secure_)?getenv *\("[A-Z_]+"' | sed 's/.*("//; s/"//' | sort -u
    sed -n '/environment\[\] = {/,/^};/s/^  {"\([A-Z_]*\)".*/\1/p' src/manual.c; } | sort | uniq -c | awk '$1 % 2 { print $2 }')"
rule "headers are guarded" "$(sources src mpi gpu tests | grep '\.h$' | xargs grep -L -E '^#ifndef [A-Z0-9_]+_H$')"

rule "every source and script names its licence in its first lines" "$({ sources src mpi gpu tests; scripts
  find m4 -name '*.m4'; ls configure.ac Makefile.am build-aux/revision.sh; } |
  while read -r f; do head -n 2 "$f" | grep -q 'SPDX-License-Identifier: GPL-3.0-or-later' || echo "$f"; done)"
tab=$(printf '\t')
rule "no tab in sources and scripts" "$({ sources src mpi gpu tests; scripts; } | xargs grep -Hn "$tab" | cut -c 1-100)"
rule "no space at the end of a line" \
  "$({ sources src mpi gpu tests; scripts; find . -name local.mk ! -path './build*'; find doc params -type f \( -name '*.md' -o -name '*.ini' \)
    ls configure.ac Makefile.am README.md ChangeLog AUTHORS CITATION.cff; } | xargs grep -Hn "[ $tab]\$" | cut -c 1-100)"
rule "no source is longer than 600 lines" \
  "$({ sources src mpi gpu tests; scripts; } | xargs wc -l | awk '$1 > 600 && $2 != "total" { print $2 ": " $1 " lines" }')"
rule "scripts may be executed" "$(find quickstart tools/espalier-plot tests/slurm jobscripts -type f ! -name "*.md" ! -name "*.py" ! -name "*.mk" ! -perm -u+x)"

# [text](target) and ![text](target), without what leads into the net or into the page itself
links() {
  grep -n -o -E '\]\([^)]+\)' "$1" | sed -E 's/^([0-9]+):\]\(([^)#]*).*\)?$/\1 \2/; s/\)$//' |
    while read -r line target; do
      case $target in '' | http:* | https:* | mailto:*) continue ;; esac
      [ -e "$(dirname "$1")/$target" ] || echo "$1:$line: $target"
    done
}
rule "links between pages lead to files" "$(find README.md doc gpu jobscripts packaging params tools tests -name '*.md' | while read -r f; do links "$f"; done)"
echo "1..$number"
exit $failed
