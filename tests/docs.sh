#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Links between pages lead to files, and to headings that are there: in the source, and where pages are installed.
# Fenced code is for the shell, and can be pasted.
. "${srcdir:-.}/tests/harness.sh"
shown="bad"

# "LINE TARGET" of every [text](target) and ![text](target) of a page that does not lead into the net; code is left out
links() {
  awk '/^```/ { code = !code } code { print ""; next } { gsub(/`[^`]*`/, ""); print }' "$1" |
    grep -n -o -E '\]\([^) ]+\)' |
    sed -E 's/^([0-9]+):\]\((.*)\)$/\1 \2/' | grep -v -E '^[0-9]+ (https?|mailto):'
}
# the names by which a page's headings are reached
anchors() {
  awk '/^```/ { code = !code } !code && /^#+ / { sub(/^#+ +/, ""); line = tolower($0); gsub(/[^a-z0-9 _-]/, "", line);
    gsub(/ /, "-", line)
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
      elif [ -n "$name" ] && ! anchors "$file" |
        grep -q -x -F -e "$name"; then echo "$page:$line: there is no heading $target"
      fi
    done
  done)
}

none() { check "$1" test ! -s bad; }
pages() { (cd "$1" && find . -name '*.md' ! -path './.*/*' ! -path './build*' | sort); }   # FOLDER

# this test finds what it looks for
mkdir try tree blocks
printf '%s\n' '# A page' '## One: `two`' \
  '[a](#one-two) [b](absent.md) [c](page.md#three) [d](https://x.org/y) `[e](code.md)`' > try/page.md
dead try > bad
printf '%s\n' './page.md:3: there is no absent.md' './page.md:3: there is no heading page.md#three' | cmp - bad
ok $? "dead links are found"

for part in "$src"/*; do ln -s "$part" "tree/${part##*/}"; done
for part in README.md doc gpu jobscripts packaging tools; do rm "tree/$part" && cp -r "$src/$part" "tree/$part"; done
dead tree > bad
[ ! -s bad ] && [ "$(find tree -name '*.md' | wc -l)" -ge 15 ]
ok $? "links in the source"

# fenced PAGE: each block for the shell goes to a file of its own in blocks; yt.sh and pynbody.sh carry out those for
# Python, and C is not for the shell
fenced() {
  rm -f blocks/*
  awk '/^```/ { code = !code; python = /python|[{]|```c$/; if (code) file = "blocks/" (n += 1); next }
    code && !python { print > file }' "$1"
}
printf 'text\n```\necho one    # a comment\n             (that goes on) and on\n```\n' > try/page.md
fenced try/page.md
[ -s blocks/1 ] && ! sh -n blocks/1 2> bad
ok $? "code that the shell does not take is found"
pages "$src" | while read -r page; do
  fenced "$src/$page"
  for block in blocks/*; do
    [ ! -e "$block" ] || { echo "$page" >> fenced && sh -n "$block" 2>&1 | sed "s|^|$page: block |"; }
  done
done > bad
[ ! -s bad ] && has fenced README
ok $? "the shell takes the code in pages"

(cd "$src/doc" && for page in *.md; do
  [ "$page" = index.md ] || grep -q -F "]($page)" index.md || echo "index.md does not name $page"
done) > bad
none "the index has all pages"
# sections, but not the page's own heading
anchors "$src/doc/measurements.md" | sed 1d | while read -r name; do
  grep -q -F "](#$name)" "$src/doc/measurements.md" || echo "no topic of measurements.md leads to #$name"
done > bad
none "the topics of the measurements have all sections"

docs=$dir/installed/usr/share/doc/espalier
if [ -r "$here/Makefile" ] &&
  try "${MAKE:-make}" -C "$here" -s DESTDIR="$dir/installed" prefix=/usr datarootdir=/usr/share \
  docdir=/usr/share/doc/espalier install-dist_docDATA install-nobase_dist_docDATA install-nobase_dist_pkgdataDATA; then
  { dead "$docs" && dead installed/usr/share/espalier; } > bad
  none "links in what is installed"
  [ "$(pages "$docs" | wc -l)" -ge "$(find "$src/doc" "$src/README.md" -name '*.md' | wc -l)" ] &&
    [ -s "$docs/doc/index.md" ]
  ok $? "all pages are installed"
else
  ok 1 "pages are installed"
fi
finish
