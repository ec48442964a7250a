#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# quickstart in a source tree that only pretends to be one, with an apt-get that does: locks of other programs are
# waited for; names and values from the environment are no commands; what cannot be written is named.
. "${srcdir:-.}/tests/harness.sh"
tree=$dir/tree bin=$dir/bin
mkdir -p "$tree/m4" "$tree/src" "$bin"
# one package, whose program the pretended apt-get makes
sed "/^needs='/,/'\$/c needs='pretended command pretended-program'" "$src/quickstart" > "$tree/quickstart"
chmod +x "$tree/quickstart"
cat > "$tree/configure" << 'END'
#!/bin/sh
for word; do printf '%s\n' "$word"; done > words
: > config.status
printf 'all:\n\t@echo made\ncheck-quick:\n\t@echo "# PASS: 3"; echo "# FAIL: 0"; echo "# SKIP: 0"\n' > Makefile
END
chmod +x "$tree/configure"
touch "$tree/configure.ac" "$tree/Makefile.am"
# sudo for those who are not root; sleep without waiting
printf '#!/bin/sh\n[ "$1" != -n ] || shift\nexec "$@"\n' > "$bin/sudo"
printf '#!/bin/sh\necho "$1" >> "%s/slept"\n' "$dir" > "$bin/sleep"
# Files locks and "lock of install" hold the calls that are still refused.
cat > "$bin/apt-get" << END
#!/bin/sh
echo "\$*" >> "$dir/apt"
left=\$(cat "$dir/locks-\$1" 2> /dev/null || echo 0)
if [ "\$left" -gt 0 ]; then
  echo \$((left - 1)) > "$dir/locks-\$1"
  echo "E: Could not get lock /var/lib/apt/lists/lock. It is held by process 1 (unattended-upgr)" >&2
  exit 100
fi
[ ! -e "$dir/broken" ] || { echo "E: Unable to fetch some archives" >&2; exit 100; }
case \$1 in install) printf '#!/bin/sh\n' > "$bin/pretended-program"; chmod +x "$bin/pretended-program" ;; esac
END
chmod +x "$bin"/*
# fresh: as after unpacking
fresh() {
  rm -rf "$tree/build" "$bin/pretended-program" "$dir"/locks-* apt slept broken
  touch "$tree/Makefile.in"
}
# quick [NAME=VALUE]...: check-quick
quick() { (cd "$dir" && env PATH="$bin:$PATH" "$@" tree/quickstart check-quick) > said 2> err < /dev/null; }
passed() { grep -q '^3 passed, 0 failed, 0 skipped$' said; }

fresh
quick && passed && [ "$(cat apt)" = "update
install -y -q --no-install-recommends pretended" ] && [ ! -e slept ]
ok $? "missing packages are installed"
(cd "$dir" && env PATH="$bin:$PATH" tree/quickstart packages) > said 2> err < /dev/null &&
  { has said 'ffmpeg' || command -v ffmpeg > /dev/null; }
ok $? "packages names ffmpeg, which check does not install"
fresh
echo 3 > locks-update
echo 2 > locks-install
quick && passed && [ "$(wc -l < slept)" = 5 ] &&
  [ "$(grep -c 'waiting, at most 600 s, as another program installs packages' said)" = 2 ]
ok $? "locks of another program are waited for, and the user is informed"
fresh
echo 1000 > locks-update
! quick ESPALIER_APT_WAIT=20 && [ "$(wc -l < slept)" = 4 ] &&
  grep -q 'another program installs packages, and has not ended in 20 s. Try again' said
ok $? "not for ever"
fresh
: > broken
! quick && [ ! -e slept ] && grep -q 'Unable to fetch some archives' said
ok $? "other errors end at once"
if command -v apt-get > /dev/null 2>&1 && command -v python3 > /dev/null 2>&1; then
  # the real one, with lists of its own, whose lock is held; the pretended sleep releases it
  fresh
  real=$(command -v apt-get)
  mkdir -p lists/partial cache/archives/partial
  printf '%s "%s";\n' Dir::State::lists "$dir/lists" Dir::Cache "$dir/cache" Dir::Etc::SourceList /dev/null \
    Dir::Etc::SourceParts /dev/null > apt.conf
  cp "$bin/apt-get" pretended
  printf '#!/bin/sh\ncase $1 in update) APT_CONFIG=%s exec %s "$@" ;; esac\nexec %s "$@"\n' "$dir/apt.conf" "$real" \
    "$dir/pretended" > "$bin/apt-get"
  printf '#!/bin/sh\n: > "%s/release"\nwhile [ ! -e "%s/released" ]; do /bin/sleep 0.05; done\n' "$dir" "$dir" > \
    "$bin/sleep"
  timeout 60 python3 - "$dir" << 'END' &
import fcntl, os, sys, time
with open(sys.argv[1] + "/lists/lock", "a") as lock:
    fcntl.lockf(lock, fcntl.LOCK_EX)
    open(sys.argv[1] + "/held", "w")
    while not os.path.exists(sys.argv[1] + "/release"):
        time.sleep(0.05)
open(sys.argv[1] + "/released", "w")
END
  within 30 test -e held
  quick && passed && grep -q 'waiting, at most' said && grep -q 'Could not get lock' "$tree/build/logs/apt-update.log"
  ok $? "apt-get itself, with the lock of the lists held"
  wait
  cp pretended "$bin/apt-get"
else
  skip "apt-get itself" "there is none"
fi

fresh
quick "ESPALIER_CONFIGURE=--without-cuda CFLAGS='-O1 -g' * \"A=\$(touch X)\"" && passed &&
  [ "$(cat "$tree/build/words")" = "--without-cuda
CFLAGS=-O1 -g
*
A=\$(touch X)" ] && [ -z "$(find "$dir" -name X)" ]
ok $? "arguments of configure: quotes, and nothing else of a shell"
for jobs in 0 x '2;touch X' -1; do
  ! quick "ESPALIER_JOBS=$jobs" && grep -q "^quickstart: ESPALIER_JOBS=$jobs: a whole number above 0 was expected" err
  ok $? "ESPALIER_JOBS=$jobs is refused"
done
mkdir -p "$dir/elsewhere/tree"
fresh
quick CDPATH="$dir/elsewhere" && passed && [ -e "$tree/build/words" ]
ok $? "CDPATH leads nowhere else"
fresh
: > "$tree/build"
! quick && grep -q "^quickstart: cannot write in $tree/build/logs" err
ok $? "build/ cannot be made"
rm "$tree/build"
for name in 'two words' 'a$(touch X)' "it's" 'a;b'; do
  mv "$tree" "$dir/$name"
  (cd "$dir" && PATH="$bin:$PATH" "./$name/quickstart" check-quick) > said 2> err < /dev/null
  [ $? = 1 ] && grep -q '^quickstart: Autotools cannot build below a path with spaces or special characters' err &&
    [ -z "$(find "$dir" -name X)" ]
  ok $? "a source tree in $name"
  mv "$dir/$name" "$tree"
done
finish
