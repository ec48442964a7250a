#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The command line: exit statuses and sentences. The cases run a few at a time, because starting MPI is mostly waiting.
. "${srcdir:-.}/tests/harness.sh"
cases=0

# expect STATUS FRAGMENT ARGUMENT...: checked later, by 'check_all'. FRAGMENT is a basic regular expression. RANKS=n:
# with mpirun.
expect() {
  cases=$((cases + 1))
  printf '%s\n' "$1" "$2" "${RANKS:-1}" > "$cases.expected"
  shift 2
  echo "espalier $*" > "$cases.command"
  mkdir "$cases.tmp"
  (TMPDIR=$dir/$cases.tmp launch "${RANKS:-0}" "$@" > "$cases.out" 2> "$cases.err"; echo $? > "$cases.status") &
  test $((cases % 6)) -ne 0 || wait
}

# file NAME LINE...: a parameter file
file() { name=$1 && shift && printf '%s\n' "$@" > "$name"; }

# Each case once: the status, the fragment in what was printed, and messages from one rank only. A failure has a message
# on stderr.
check_all() {
  wait
  for i in $(seq $cases); do
    { read -r status; read -r fragment; read -r ranks; } < "$i.expected"
    shown="$i.out $i.err"
    [ "$(cat "$i.status")" = "$status" ] && cat $shown | grep -q -e "$fragment" && [ "$(cat $shown |
      grep -c '^espalier:')" -le 1 ] &&
      { [ "$status" = 0 ] || has "$i.err" '^espalier: '; } && { [ "$status" != 2 ] || has "$i.err" '^usage: espalier'; }
    ok $? "$(cat "$i.command") ($ranks): $status, $fragment"
  done
}

expect 0 '^commands:' --help
expect 0 '^usage: espalier run' run -h
expect 0 '^usage: espalier force' force --help
expect 2 'option --substeps: expected a whole number of block steps' run --substeps 0 absent.ini
expect 0 'mass-ratio' ic --help
expect 0 '^usage: espalier study let|time|machine' study --help
expect 0 'N_soft counts cells of LET' study let -h
expect 0 '^usage: espalier params' params -h
expect 0 '^usage: espalier info' info -h
expect 0 '^espalier [0-9]' -V
expect 0 '^revision  *[^ ]' --version
expect 0 '^configure' run --version
expect 0 '^MPI  *[^ ]' -V
expect 0 '^HDF5  *1\.' -V
expect 0 '^Softening = ' params
expect 0 '^| Softening |' params --markdown
expect 0 '"name": "Softening", "kind": "real", "default": "0.1", "values": "at least 0", "unit": "length"' params --json
expect 0 '^  cpu ' info
expect 0 '^.TH ESPALIER 1' info --manual
# a machine without a driver, if the build asks for one
if test ! -e /proc/driver/nvidia/version && test ! -e /dev/dxg && espalier info | grep -q '^  cuda .*driver'; then
  expect 0 '^  cuda .*there is no NVIDIA driver' info
fi

expect 2 'a command is missing'
expect 2 "unknown command 'rum'; did you mean 'run'" rum
expect 2 "^'espalier --help' lists the commands"
expect 2 "^'espalier run --help' explains it" run
for name in ESPALIER_SIMD=sse ESPALIER_CLOCK=wall ESPALIER_CUDA_MPI=on ESPALIER_LARGEST_MESSAGE=1e6 \
  SOURCE_DATE_EPOCH=today SOURCE_DATE_EPOCH=99999999999999999999 OMP_NUM_THREADS=100000; do
  export "${name?}"
  expect 1 "${name%=*} " info
  wait
  unset "${name%=*}"
  export SOURCE_DATE_EPOCH=0 OMP_NUM_THREADS=1
done
expect 0 '^commands:' help
expect 0 '^usage: espalier ic' help ic
expect 2 "unknown command 'rum'; did you mean 'run'" help rum
expect 2 'unknown option --chekc; did you mean --check?' run --chekc x.ini
expect 2 'ambiguous option --o: it may be --overwrite, --output' force --o x.ini
expect 2 'unknown option -z' -z
expect 2 "option -r: expected last, the number of a checkpoint, or its folder, found 'nowhere'" run -r nowhere x.ini
for which in '' last 3; do expect 2 'options -r and --overwrite: a run either continues its results or replaces them' \
  run -r $which --overwrite x.ini; done
expect 2 'options -r and --overwrite' run --check --overwrite --restart=last x.ini
expect 2 'option --check=1: expected no value' run --check=1 x.ini
expect 2 'option -n needs a value' run -n
expect 2 "option -n: expected a whole number of steps, found '-1'" run -n -1 x.ini
expect 2 'parameter file is missing' run
expect 2 "found 'b.ini' too" force a.ini b.ini
expect 2 "found 'Softening=1'; did you mean -P Gravity:Softening=1?" run -P Softening=1 x.ini
expect 2 "did you mean -P Output:OutputDir=a:b?" force -P OutputDir=a:b x.ini
expect 2 "expected Section:Name=value .*, found 'Sftening=1'" run -P Sftening=1 x.ini
expect 2 "option --direct: expected a whole number of particles, at most 10000000, found '1e8'" force --direct 1e8 x.ini
expect 1 'absent.ini: .*No such file' force --direct 1e3 absent.ini
expect 1 'absent.ini: .*No such file' run -n 2e2 --substeps 1.5e3 absent.ini
expect 1 'absent.ini: .*No such file' study let --ranks 1e1,2.5e2 absent.ini
expect 2 "option -n: expected a whole number of steps, found '1e400'" run -n 1e400 absent.ini
expect 2 "option -n: expected a whole number of steps, found '1e99999'" run -n 1e99999 absent.ini
expect 2 "option --delta: expected at most 128 numbers .*found '9:5'" force --delta 9:5 x.ini
expect 2 "option --delta: .*found '5:9:0'" force --delta 5:9:0 x.ini
expect 2 "option --delta: .*found '5,,9'" force --delta 5,,9 x.ini
expect 2 "option --delta: .*found '0:1000'" force --delta 0:1000 x.ini
expect 2 "option --delta: .*found '2^9:2^x'" force --delta 2^9:2^x x.ini
expect 2 "unexpected 'x'" params x
expect 2 "option --get: unknown parameter 'Sofening'; did you mean 'Softening'" params --get Sofening x.ini
expect 2 'parameter file is missing' params --get Softening
expect 2 'option -P: belongs to --get' params -P Gravity:Softening=1
expect 2 "a study is missing: let, time, machine or trace" study
expect 2 "unknown study 'lett'; did you mean 'let'" study lett x.ini
expect 2 "a study is missing: let, time, machine or trace" study --ranks 2 let x.ini
expect 2 'option --domains: .*give -o TABLE.csv' study let --domains x.ini
expect 2 'parameter file is missing' study let --ranks 2
expect 2 "option --ranks: expected .* from 1 to 65536 .*found '0'" study let --ranks 0 x.ini
expect 2 "option --ranks: .*found '2,-4'" study let --ranks 2,-4 x.ini
expect 2 "option --ranks: .*found '65537'" study let --ranks=65537 x.ini
expect 2 "option --ranks: .*found '2,,4'" study let --ranks 2,,4 x.ini
expect 2 "option --ranks: .*found '2,'" study let --ranks 2, x.ini
expect 2 "option --ranks: .*found '4.5'" study let --ranks 4.5 x.ini
expect 2 "option --ranks: .*found ''" study let --ranks '' x.ini
expect 2 "option --r1: expected .*found '1,nan'" study let --r1 1,nan x.ini
expect 2 "option --r1: .*found '0'" study let --r1 0 x.ini
expect 2 'model is missing' ic -n 10 -o x.hdf5
expect 2 "unknown model 'plumer'; did you mean 'plummer'" ic plumer -n 10 -o x.hdf5
expect 2 'option -n is missing' ic plummer -o x.hdf5
expect 2 'option -o is missing' ic plummer -n 10
expect 2 "found '0'" ic plummer -n 0 -o x.hdf5
for n in 1.5 1e400 1e-400 1e 0x10 1e1.5 15e-1 1e11; do
  expect 2 "option -n: expected a whole number of particles from 1 to 2^36, found '$n'" ic plummer -n $n -o x.hdf5
done
expect 0 'power.hdf5: 200 particles of model plummer, seed 9223372036854775000' ic plummer -n 2e2 -s \
  9223372036854775e3 -o power.hdf5
expect 0 'whole.hdf5: 25 particles of model plummer' ic plummer -n 2.5E+1 -o whole.hdf5
expect 2 'option -s: expected a whole number' ic plummer -n 10 -s x -o x.hdf5
expect 2 '--mass-ratio belongs to model merger, not to plummer' ic plummer -n 10 --mass-ratio 2 -o x.hdf5
expect 2 "option --separation: expected a number, found 'nan'" ic merger -n 10 --separation nan -o x.hdf5
expect 2 'virial ratio: expected a number from 0 to 1.9, found 2' ic uniform -n 10 --virial-ratio 2 -o x.hdf5

echo precious > there.hdf5
mkdir folder
expect 1 'there.hdf5: already exists' ic plummer -n 10 -o there.hdf5
expect 1 'expected a file name, found a folder' ic plummer -n 10 -o folder
expect 1 'folder absent: No such file or directory' ic plummer -n 10 -o absent/x.hdf5
expect 1 'Not a directory' ic plummer -n 10 -o there.hdf5/x.hdf5
RANKS=3 expect 1 'there.hdf5: already exists' ic plummer -n 10 -o there.hdf5
expect 0 'made.hdf5: 10 particles of model plummer, seed 1' ic plummer -n 10 -o made.hdf5

file section.ini '[Gravty]' 'Softening = 1'
file key.ini '[Gravity]' 'Sofening = 1'
file place.ini '[Gravity]' 'OutputDir = x'
file nowhere.ini 'Softening = 1'
file twice.ini '[Gravity]' 'Softening = 1' 'Softening = 1'
file number.ini '[Gravity]' 'Softening = 1.0x'
file nan.ini '[Gravity]' 'Softening = nan'
file range.ini '[Gravity]' 'Softening = -1'
file whole.ini '[Gravity]' 'MaxLeafSize = 2.5'
file choice.ini '[Split]' 'Kernel = cubic'
file equals.ini '[Split]' 'Kernel'
file long.ini '[Output]' "OutputDir = $(printf %0600d 0)"
file times.ini '[Time]' 'TimeMax = 1' 'TimeBegin = 2'
file radii.ini '[Split]' 'R1 = 3' 'R2 = 2'
file block.ini '[Steps]' 'FixedStep = 0.1' 'Scheme = block'
file fixed.ini '[Steps]' 'FixedStep = 0.1' 'Scheme = shared' '[Split]' 'Mode = hybrid' 'SoftStep = 0.3'
file base.ini '[Output]' 'SnapshotFileBase = a.b'
file grid.ini '[Input]' 'InitCondFile = there.hdf5' '[Domain]' 'DomainGrid = 2x2x2'
file nogrid.ini '[Domain]' 'DomainGrid = 2x2'
file noinput.ini '[Time]' 'TimeMax = 1'
file input.ini '[Input]' 'InitCondFile = ther.hdf5'
file list.ini '[Input]' 'InitCondFile = there.hdf5' '[Output]' 'OutputListFilename = times'
: > empty.ini
head -c 3000 "$here/espalier" > binary.ini
expect 1 'error: section.ini:1: unknown section .Gravty.; did you mean .Gravity.' run section.ini
expect 1 "error: key.ini:2: unknown parameter 'Sofening' in .Gravity.; did you mean 'Softening'" run key.ini
expect 1 'place.ini:2: .*it belongs in .Output.' run place.ini
expect 1 'nowhere.ini:1: .*before any .Section.' run nowhere.ini
expect 1 'twice.ini:3: .*is given twice; the first is in line 2' run twice.ini
expect 1 "number.ini:2: .*expected a length, for example 50 pc, found '1.0x': unknown unit 'x'" run number.ini
expect 1 "nan.ini:2: .*found 'nan'" run nan.ini
expect 1 "range.ini:2: .*expected a number at least 0 (length), found '-1'" force range.ini
expect 1 'whole.ini:2: .*expected a whole number from 1 to 256' run whole.ini
expect 1 "choice.ini:2: .*expected one of quintic.* or [a-z]*, found 'cubic'" run choice.ini
expect 1 "equals.ini:2: expected 'Name = value'" run equals.ini
expect 1 'long.ini:2: .*at most 511 characters' run long.ini
expect 1 'times.ini:2: .*expected TimeMax above TimeBegin' run times.ini
expect 1 'radii.ini:3: .*expected R2 above R1' run radii.ini
expect 1 'block.ini:2: FixedStep.*and Scheme' run block.ini
expect 1 'fixed.ini:2: FixedStep.*and SoftStep.*power of two' run fixed.ini
expect 1 'base.ini:2: SnapshotFileBase' run base.ini
expect 1 'DomainGrid = 2x2x2 is for 8 ranks, and this run has 1: give numbers whose product is 1, or auto' run grid.ini
expect 1 'DomainGrid = 2x2x2 is for 8 ranks' run --check -P Input:InitCondFile=made.hdf5 \
  -P Units:GravityConstantInternal=1 grid.ini
expect 1 'error: there.hdf5: ' run --check grid.ini
expect 1 'error: there.hdf5: ' run --check -P Gravity:WalkMethod=next-more -P Device:Backend=cpu grid.ini
expect 1 'DomainGrid = 2x2x2 is for 8 ranks' force grid.ini
RANKS=3 expect 1 'DomainGrid = 1x1x4 is for 4 ranks, and this run has 3' run -P Domain:DomainGrid=1x1x4 grid.ini
RANKS=3 expect 1 'DomainGrid = 2x2x2 is for 8 ranks, and this run has 3' run --check -P Input:InitCondFile=made.hdf5 \
  -P Units:GravityConstantInternal=1 grid.ini
RANKS=3 expect 1 'DomainGrid = 1x1x1 is for 1 rank, and this run has 3' run -P Domain:DomainGrid=1x1x1 grid.ini
expect 1 'nogrid.ini:2: DomainGrid = 2x2: expected auto, or three whole numbers as in 4x2x2' run nogrid.ini
expect 1 'expected auto, or three whole numbers' run -P Domain:DomainGrid=0x1x1 noinput.ini
expect 1 'expected auto, or three whole numbers' run -P Domain:DomainGrid=1x1x1x1 noinput.ini
expect 1 'expected auto, or three whole numbers' run -P Domain:DomainGrid=-1x1x-1 noinput.ini
expect 1 'expected auto, or three whole numbers' run -P Domain:DomainGrid=99999999999999999999x1x1 noinput.ini
expect 1 'noinput.ini: InitCondFile' run noinput.ini
expect 1 "input.ini:2: InitCondFile.*No such file.*did you mean 'there.hdf5'" run input.ini
file home.ini '[Output]' 'OutputDir = ~/foo'
file quoted.ini '[Checkpoints]' 'CheckpointDir = "qq"'
file signs.ini '[Input]' 'InitCondFile = $HOME/foo.hdf5'
signs="a shell's signs (~, quotes, .) mean nothing in a parameter file"
expect 1 "home.ini:2: OutputDir = ~/foo: expected a path as it is: $signs" run home.ini
expect 1 "quoted.ini:2: CheckpointDir = \"qq\": expected .* $signs" run quoted.ini
expect 1 "signs.ini:2: InitCondFile = .HOME/foo.hdf5: expected .* $signs" run signs.ini
expect 1 "OutputDir = 'a' (-P): expected .* $signs" run -P "Output:OutputDir='a'" noinput.ini
expect 1 "OutputDir = b/.{c} (-P): expected .* $signs" run -P 'Output:OutputDir=b/${c}' noinput.ini
expect 0 '^it.s/a~b.$' params --get OutputDir -P "Output:OutputDir=it's/a~b\$" noinput.ini
file solitary_model.ini '[Input]' 'InitCondFile = solitary_model.hdf5'
expect 1 'solitary_model.ini:2: InitCondFile = solitary_model.hdf5: No such file or directory$' run solitary_model.ini
expect 1 'list.ini:4: OutputListFilename.*No such file' run list.ini
expect 1 'empty.ini: expected parameters, found none' run empty.ini
expect 1 'binary.ini:1: byte 0x.*not a text file' run binary.ini
RANKS=3 expect 1 'error: made.hdf5 is an HDF5 file; expected a parameter file: .*InitCondFile = made.hdf5 in it' run \
  made.hdf5
expect 1 "error: key: .*did you mean 'key.ini'" run key
: > andromeda_picture.png
expect 1 'error: andromeda_pictures.ini: .*No such file or directory$' run andromeda_pictures.ini
expect 1 "error: key.in: .*did you mean 'key.ini'" run key.in
expect 1 'emty.ini: .*No such file or directory.*empty.ini' run emty.ini
expect 1 'folder: expected a parameter file, found a folder' run folder
file force.ini '[Input]' 'InitCondFile = made.hdf5' '[Units]' 'GravityConstantInternal = 1' '[Device]' 'Backend = cpu'
expect 2 'option --delta: expected powers from 0 to 60' force --delta 61 force.ini
expect 2 'option --delta: numbers are powers, .*, and 0.001 stands for Delta = 0.9993; for Delta = 0.001 give 9.966' \
  force --delta 0.001 force.ini
expect 2 'option --delta: expected powers from 0 to 60 .*, found -9' force --delta -9 force.ini
expect 2 "option --delta: expected at most 128 numbers .*found '2^-9:2^-5'" force --delta 2^-9:2^-5 force.ini
expect 0 '^| 2^-9 | [0-9.]*e-' force --delta 2^-9 force.ini
expect 0 '^| 2^-7 | [0-9.]*e-' force --delta 2^-5:2^-7:0.5,9 force.ini
expect 0 '^| 0.5 | [0-9.]*e-' force --delta 2^-1 -P Gravity:TypeOfOpeningCriterion=angle force.ini
expect 2 'option --delta: expected angles' force --delta 1.5 -P Gravity:TypeOfOpeningCriterion=angle force.ini
expect 0 '^| 2^-7.5 | [0-9.]*e-' force --delta 5:7,7.5 force.ini
expect 0 '^| 0.5 | [0-9.]*e-' force --delta 0.3:0.6:0.1 -P Gravity:TypeOfOpeningCriterion=angle -o curve.csv force.ini
RANKS=3 expect 0 '^| 2^-9 | [0-9.]*e-' force --delta 9 --direct 5 force.ini
expect 1 'there.hdf5: already exists' force --delta 5 -o there.hdf5 force.ini
echo precious > table.csv
echo precious > rows.csv
expect 1 'made.hdf5: is the input' force --delta 5 --overwrite -o made.hdf5 force.ini
ln made.hdf5 linked.hdf5
expect 1 'linked.hdf5: is the input, InitCondFile = made.hdf5' force --delta 5 --overwrite -o linked.hdf5 force.ini
expect 1 'made.hdf5: is the input' force --overwrite -o made.hdf5 force.ini
RANKS=3 expect 1 './made.hdf5: is the input' force --overwrite -o ./made.hdf5 force.ini
RANKS=3 expect 1 'there.hdf5: already exists; give another name, or --overwrite' force -o there.hdf5 force.ini
echo old > forces.hdf5
expect 0 '^particles  *10' force --overwrite -o forces.hdf5 force.ini
expect 1 'made.hdf5: is the input' study let --overwrite -o made.hdf5 force.ini
expect 1 'WalkMethod = direct' study let --ranks 2 --overwrite -o rows.csv -P Gravity:WalkMethod=direct force.ini
expect 1 'WalkMethod = direct' study let --ranks 2 -o never.csv -P Gravity:WalkMethod=direct force.ini
expect 0 '^note: RebuildInterval = 8 has no effect while the split is on' run -n 1 -P Gravity:RebuildInterval=8 \
  -P Split:Mode=hybrid -P Output:OutputDir=o1 force.ini
RANKS=3 expect 0 '^note: RebuildInterval = 8 has no effect with one step for all' run -n 1 \
  -P Gravity:RebuildInterval=8 -P Split:Mode=tree -P Steps:Scheme=shared -P Output:OutputDir=o2 force.ini
expect 0 '^10 particles on 1 rank x ' run -n 1 -P Output:OutputDir=o3 force.ini
expect 1 'DomainGrid = 2x2x2 is for 8 ranks' force --delta 5 --overwrite -o table.csv \
  -P Domain:DomainGrid=2x2x2 force.ini
expect 1 'DomainGrid = 2x2x2 is for 8 ranks' force --delta 5 -o never.csv -P Domain:DomainGrid=2x2x2 force.ini
RANKS=3 expect 1 'absent/t.csv: cannot be written' force --delta 5 -o absent/t.csv force.ini
expect 1 'WalkMethod = direct: the backend cpu does not have it' force -P Gravity:WalkMethod=direct force.ini
expect 1 'WalkMethod = direct: the backend cpu does not have it; .*, or Backend = cuda' run --check \
  -P Gravity:WalkMethod=direct force.ini
RANKS=3 expect 1 'WalkMethod = direct: .*expected groups or auto$' run --check -P Gravity:WalkMethod=direct force.ini
expect 1 'WalkMethod = next-more: the backend cpu does not have it' run -P Gravity:WalkMethod=next-more force.ini
expect 0 'the ceiling of walks: [0-9]' info --rates
file study.ini '[Input]' 'InitCondFile = there.hdf5'
expect 1 'key.ini:2: unknown parameter' study let key.ini
expect 1 'there.hdf5: already exists' study let -o there.hdf5 study.ini
expect 1 'absent/t.csv: cannot be written: No such file' study let -o absent/t.csv study.ini
expect 1 'folder: cannot be written: Is a directory' study let --overwrite -o folder study.ini
RANKS=3 expect 1 'absent/t.csv: cannot be written' study let -o absent/t.csv study.ini
RANKS=3 expect 2 "option --ranks: .*found 'x'" study let --ranks x study.ini
file values.ini '[Output]' 'OutputDir : run#3 ;4' '[Gravity]' 'Softening = 0.25'
expect 0 '^run#3$' params --get OutputDir values.ini
expect 0 '^0.5$' params --get OutputDir -P Gravity:Softening=0.5 --get Softening values.ini
RANKS=3 expect 1 'key.ini:2: unknown parameter' params --get OutputDir key.ini
expect 1 "P Gravity:Softning=1: .*did you mean 'Softening'" run -P Gravity:Softning=1 noinput.ini
expect 1 'TimeMax = -1 (-P) and TimeBegin = 0 (default)' force -P Time:TimeMax=-1 noinput.ini
expect 1 "option -o: expected the name of a file, found ''" ic plummer -n 10 -o ''
expect 1 "option -o: expected the name of a file, found ''" force -o '' -P Input:InitCondFile=noinput.ini noinput.ini
RANKS=3 expect 1 'key.ini:2: unknown parameter' run key.ini
RANKS=3 expect 1 'binary.ini:1: byte 0x' force binary.ini
RANKS=3 expect 1 'input.ini:2: InitCondFile' run input.ini
RANKS=3 expect 2 'parameter file is missing' run
RANKS=3 expect 0 '^commands:' -h
check_all
[ "$(cat table.csv rows.csv there.hdf5 | sort -u)" = precious ] && [ "$(cat table.csv rows.csv there.hdf5 |
  wc -l)" = 3 ] && [ ! -e never.csv ] ||
  echo 'Bail out! a start that failed cut or left a table, or replaced an existing file'
finish
