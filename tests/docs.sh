#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Links between pages lead to files, and to headings that are there: in the source, and where pages are installed. Fenced code is for
# the shell, and can be pasted.
dir=$(mktemp -d) || exit 99
trap 'chmod -R u+w "$dir" 2> /dev/null; rm -rf "$dir"' EXIT
src=$(cd "${srcdir:-.}" && pwd)
. "$src/tests/tap.sh"
shown="$dir/bad"

# "LINE TARGET" of every [text](target) and ![text](target) of a page that does not lead into the net; code is left out
links() {
  awk '/^```/ { code = !code } code { print ""; next } { gsub(/`[^`]*`/, ""); print }' "$1" | grep -n -o -E '\]\([^) ]+\)' |
    sed -E 's/^([0-9]+):\]\((.*)\)$/\1 \2/' | grep -v -E '^[0-9]+ (https?|mailto):'
}
# the names by which a page's headings are reached
anchors() {
  awk '/^```/ { code = !code } !code && /^#+ / { sub(/^#+ +/, ""); line = tolower($0); gsub(/[^a-z0-9 _-]/, "", line); gsub(/ /, "-", line)
    print line (seen[line] ? "-" seen[line] : ""); seen[line]++ }' "$1"
}
# dead FOLDER: links of pages there that lead nowhere
dead() {
  (cd "$1" && find . -name '*.md' ! -path './.*/*' ! -path './build*' | sort | while read -r page; do
    links "$page" | while read -r line target; do
      file=${target%%#*} name=
      case $target in *'#'*) name=${target#*#} ;; esac
      if [ -z "$file" ]; then file=$page; else file=$(dirname "$page")/$file; fi
      if [ ! -e "$file" ]; then echo "$page:$line: there is no $target"
      elif [ -n "$name" ] && ! anchors "$file" | grep -q -x -F -e "$name"; then echo "$page:$line: there is no heading $target"
      fi
    done
  done)
}

# this test finds what it looks for
mkdir "$dir/try"
printf '# A page\n## One: `two`\n[a](#one-two) [b](absent.md) [c](page.md#three) [d](https://x.org/y) `[e](code.md)`\n' > "$dir/try/page.md"
dead "$dir/try" > "$dir/bad"
[ "$(cat "$dir/bad")" = "./page.md:3: there is no absent.md
./page.md:3: there is no heading page.md#three" ]
ok $? "dead links are found"

mkdir "$dir/tree"
cp -r "$src/README.md" "$dir/tree"
(cd "$src" && find . -maxdepth 1 ! -name . ! -name README.md ! -name '.git') | while read -r part; do ln -s "$src/$part" "$dir/tree/$part"; done
for part in doc gpu jobscripts packaging tools; do
  rm "$dir/tree/$part"
  cp -r "$src/$part" "$dir/tree/$part"
done
dead "$dir/tree" > "$dir/bad"
[ ! -s "$dir/bad" ] && [ "$(find "$dir/tree" -name '*.md' | wc -l)" -ge 15 ]
ok $? "links in the source"

# fenced PAGE FOLDER: each block for the shell goes to a file of its own; tests/recipe.sh carries out those for Python, and C is not for the shell
fenced() { awk -v to="$2/" '/^```/ { code = !code; python = /python|[{]|```c$/; if (code) file = to (n += 1); next } code && !python { print > file }' "$1"; }
mkdir "$dir/blocks"
printf 'text\n```\necho one    # a comment\n             (that goes on) and on\n```\n' > "$dir/try/page.md"
fenced "$dir/try/page.md" "$dir/blocks"
[ -s "$dir/blocks/1" ] && ! sh -n "$dir/blocks/1" 2> "$dir/bad"
ok $? "code that the shell does not take is found"
(cd "$src" && find . -name '*.md' ! -path './.*/*' ! -path './build*' | sort | while read -r page; do
  rm -f "$dir"/blocks/*
  fenced "$page" "$dir/blocks"
  for block in "$dir"/blocks/*; do
    [ ! -e "$block" ] || { echo "$page" >> "$dir/fenced" && sh -n "$block" 2>&1 | sed "s|^|$page: block |"; }
  done
done) > "$dir/bad"
[ ! -s "$dir/bad" ] && grep -q README "$dir/fenced"
ok $? "the shell takes the code in pages"

(cd "$src/doc" && for page in *.md; do [ "$page" = index.md ] || grep -q -F "]($page)" index.md || echo "index.md does not name $page"; done) > "$dir/bad"
[ ! -s "$dir/bad" ]
ok $? "the index has all pages"
# sections, but not the page's own heading
anchors "$src/doc/measurements.md" | sed 1d | while read -r name; do
  grep -q -F "](#$name)" "$src/doc/measurements.md" || echo "no topic of measurements.md leads to #$name"
done > "$dir/bad"
[ ! -s "$dir/bad" ]
ok $? "the topics of the measurements have all sections"

if [ -r Makefile ] && "${MAKE:-make}" -s DESTDIR="$dir/installed" prefix=/usr datarootdir=/usr/share docdir=/usr/share/doc/espalier \
  install-dist_docDATA install-nobase_dist_docDATA install-nobase_dist_pkgdataDATA > "$dir/bad" 2>&1; then
  dead "$dir/installed/usr/share/doc/espalier" > "$dir/bad"
  dead "$dir/installed/usr/share/espalier" >> "$dir/bad"
  [ ! -s "$dir/bad" ]
  ok $? "links in what is installed"
  [ "$(cd "$dir/installed/usr/share/doc/espalier" && find . -name '*.md' | wc -l)" -ge "$(find "$src/doc" "$src/README.md" -name '*.md' | wc -l)" ] &&
    [ -s "$dir/installed/usr/share/doc/espalier/doc/index.md" ]
  ok $? "all pages are installed"
else
  ok 1 "pages are installed"
fi
echo "1..$number"
exit $failed
