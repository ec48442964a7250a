#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# espalier study let: virtual ranks agree with 2, 4 and 8 real ones; what the table says; what does not depend on
# processes.
. "${srcdir:-.}/tests/harness.sh"
# study RANKS ARGUMENT...: with so many processes
study() {
  n=$1
  shift
  limit=120 try launch "$n" study let "$@"
}
for model in plummer hernquist; do
  model $model -n 4000 -s 3 -o $model.hdf5
  parameters $model.ini Input:InitCondFile=$model.hdf5 Gravity:Softening=0.01
done

for n in 2 4 8; do
  for model in plummer hernquist; do
    order=1; test $n$model = 4plummer && order=2
    study $n --ranks 3,$n --r1 1,2 -P Gravity:MultipoleOrder=$order $model.ini
    status=$?
    test $status = 0 && test "$(grep -c "P = $n: real ranks: agrees" said)" = 2
    ok $? "$model, order $order: $n virtual ranks agree with as many real ones, at two radii"
  done
done

# by opening angle the soft LETs do not look at accelerations: these differ in their last bits with the number of
# processes
study 1 --ranks 2,16,100 -P Gravity:TypeOfOpeningCriterion=angle -o one.csv plummer.ini
study 3 --ranks 2,16,100 -P Gravity:TypeOfOpeningCriterion=angle -o three.csv plummer.ini
soft='ranks local_max soft_mean soft_max soft_roots soft_messages soft_bytes'
test -n "$(columns one.csv $soft)" && test "$(columns one.csv $soft)" = "$(columns three.csv $soft)"
ok $? "soft LETs do not depend on the number of processes"

study 4 --ranks 2,4 -P Gravity:TypeOfOpeningCriterion=angle -o near.csv plummer.ini
study 4 --ranks 2,4 -P Gravity:TypeOfOpeningCriterion=angle -P Domain:DomainGrid=4x1x1 -o slabs.csv plummer.ini
status=$?
test $status = 0 && has said 'P = 4: real ranks: agrees' &&
  test "$(columns near.csv $soft | head -1)" = "$(columns slabs.csv $soft | head -1)" &&
  test "$(columns near.csv $soft)" != "$(columns slabs.csv $soft)"
ok $? "DomainGrid holds for as many ranks as it is for, and for no others"

study 1 --ranks 2,8 --domains -o domains.csv hernquist.ini
test "$(columns domains.csv ranks local |
  awk '{ rows++; sum[$1] += $2 } END { print rows, sum[2], sum[8] }')" = '10 4000 4000'
ok $? "a row for every domain; their particles are all"
study 1 --ranks 2,8 -o ranks.csv hernquist.ini
columns domains.csv ranks hard_cells hard_particles hard_bytes |
  awk '{ n[$1]++; e[$1] += $2 + $3; b[$1] += $4 }
    END { for (p = 2; p <= 8; p += 6) printf "%d %.4f %.4f \n", p, e[p] / n[p], b[p] / n[p] }' > means
columns ranks.csv ranks hard_mean hard_bytes | awk '{ printf "%d %.4f %.4f \n", $1, $2, $3 }' > said
cmp -s means said && test -s means
ok $? "the rows of ranks are the means of those of domains"

espalier ic plummer -n 300 -s 3 -o few.hdf5 > said 2>&1
says 0 '^   500 ' -- study 1 --ranks 4,500 -P Split:Mode=tree -P Input:InitCondFile=few.hdf5 plummer.ini &&
  has said 'no split' &&
  has said '^# P = 500: more ranks than particles (300), so some ranks have none$'
ok $? "more ranks than particles, which is said; without a split"
# LETs of the CPU, which selects them again within a soft step; a device does not.
# the terminal: three tables with all parts of a soft step, in lines of 120 columns; two schemes, of which the legend is
# printed once
ESPALIER_DEBUG=let_stages=2 && export ESPALIER_DEBUG
study 1 --ranks 2,3 --scheme shared,hybrid -P Device:Backend=cpu -o parts.csv hernquist.ini
status=$?
unset ESPALIER_DEBUG
test $status = 0 && lacks said '.\{121\}' && test "$(grep -c '^Columns:$' said)" = 1 &&
  test \
  "$(grep -c 'N_hard / N_soft |' said) $(grep -c '^One selection of LETs' said) \
$(grep -c '^One soft step of scheme' said)" = '2 2 2'
ok $? "on the terminal: three tables for each scheme, at most 120 columns wide, and one legend"
awk -F, '/^#/ { next } $1 == "scheme" { for (i = 1; i <= NF; i++) name[i] = $i; next }
  { for (i = 1; i <= NF; i++) if (name[i] ~ /^step_.*_messages$/ && $i > 0) { part = name[i]; sub(/^step_/, "", part);
    sub(/_messages$/, "", part); seen[part] } }
  END { for (part in seen) print part }' parts.csv | sort > seen
awk '/^Parts of the messages/ { on = 1; next } on { print $1 }' said | sort > explained
cmp seen explained && has seen '^soft_summaries$' && has seen '^again$'
ok $? "the legend has the parts that have messages, and no others: $(tr '\n' ' ' < explained)"
numbers=$(columns parts.csv step_soft_messages step_again_messages step_messages | tail -1)
set -- $numbers
check "its messages are those of the table in the file: $numbers" has said "^     3 messages  .* $1  .* $2  .* |  *$3\$"
# moment updates that may be half or twice as many: not for a shared step, which has none, whatever its block levels
# would be
says 0 -- study 1 --ranks 2,3 --scheme shared,hybrid -P Split:SoftStep=0.04 -P Time:MaxSizeTimestep=0.04 \
  hernquist.ini && test "$(grep -c 'half or twice as many moment updates' said)" = 1 &&
  has said '^# P = 2, 3: a soft step .* updates moments 0 times' &&
  sed -n '/scheme hybrid/,$p' said | grep -q '^# P = 2, 3: some soft steps will have half or twice'
ok $? "moment updates that may be half or twice as many: said of a hybrid, not of a shared step, which has none"
check "--r1 where R1 is given: a sentence" \
  says 1 'espalier: error: --r1 sets' -- study 1 --ranks 4 --r1 1 -P Split:R1=0.1 plummer.ini
check "a table is not replaced" says 1 'one.csv: already exists' -- study 2 --ranks 4 -o one.csv plummer.ini
says 0 -- study 2 --ranks 2 --overwrite -o one.csv plummer.ini && test "$(columns one.csv ranks)" = 2
ok $? "but with --overwrite"
# several domains at a time (from 16 on), summaries in stages: the same tables, pairs and messages for a simulator,
# without the column of seconds
for threads in 1 3; do
  mkdir "threads$threads"
  for more in '-o t.csv --pairs pairs.csv --scheme shared,hybrid' '--trace goal t.goal'; do
    (cd "threads$threads" &&
      ESPALIER_DEBUG=let_stages=40 OMP_NUM_THREADS=$threads limit=120 launch 0 study let --ranks 61 $more \
      -P Input:InitCondFile=../hernquist.hdf5 ../hernquist.ini > ../said 2>&1) ||
        echo "$threads failed" > "threads$threads/failed"
  done
  awk -F, -v OFS=, '/^[^#]/ { if (!at) for (at = 1; $at != "seconds"; at++); $at = "" } { print }' \
    "threads$threads/t.csv" > rows && mv rows "threads$threads/t.csv"
done
diff -r threads1 threads3 > said && test ! -e threads1/failed && test -s threads1/t.csv &&
  test -s threads1/pairs.csv && test -s threads1/t.goal
ok $? "tables, pairs and traces do not depend on the number of threads"
if test -w /dev/full; then
  check "a full disk ends in a sentence" \
    says 1 'espalier: error: /dev/full' -- study 1 --ranks 2 --overwrite -o /dev/full plummer.ini
fi
finish
