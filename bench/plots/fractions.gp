# SPDX-License-Identifier: Apache-2.0
#
# Each case of one suite, as fractions of the limit, the faster of the copy
# kernel and of the host's copy in the same turn:
#   relayout-bench --csv ttc57 >ttc57.csv
#   gnuplot -e "csv='ttc57.csv'; suite='ttc57'; out='ttc57.svg'" \
#     bench/plots/fractions.gp
# A contestant that took part in no case is not named. With value='best_fraction'
# the best round of each counts instead of the median.

if (!exists("csv")) csv = "bench.csv"
if (!exists("suite")) suite = "ttc57"
if (!exists("out")) out = suite . ".svg"
if (!exists("value")) value = "fraction"

set datafile separator comma
set datafile columnheaders
is_shown(name) = strcol("suite") eq suite && strcol("contestant") eq name
place(name) = is_shown(name) ? column("number") : NaN

# The name of each case becomes a tic; NaN would leave a tic for every line.
tics = ""
count = 0
note(number, name) = (count = number, \
  tics = tics . sprintf("set ytics add ('%s' %d); ", name, number), number)
stats csv using (is_shown("copy") ? note(column("number"), strcol("case")) : NaN) nooutput
# An empty title leaves a contestant out of the key.
seen = " "
see(name) = (seen = strstrt(seen, " " . name . " ") ? seen : seen . name . " ", 1)
stats csv using (strcol("suite") eq suite ? see(strcol("contestant")) : NaN) nooutput
key(name, title) = strstrt(seen, " " . name . " ") ? title : ""

# As wide as can be read on a phone: a case is a line of its own.
height = 120 + 17 * count
set terminal svg size 480,height noenhanced font "sans-serif,13" background "white"
set output out
set label sprintf("%s: of the faster copy's rate (%s)", suite, \
  value eq "fraction" ? "median" : "best") at screen 0.5,(1 - 18.0 / height) center
set ytics nomirror scale 0 ()
eval tics
set xtics 0.2 nomirror scale 0
set grid xtics
set border 2
set key at screen 0.5,(18.0 / height) center horizontal samplen 1 width -1
set tmargin 2.5
set bmargin 4.2
set xrange [0:1.15]
set yrange [count + 0.7:0.3]
set style fill solid 0.85 noborder

point(name) = is_shown(name) ? column(value) : NaN
plot csv using (point("relayout") / 2):(place("relayout")):(0):(point("relayout")) \
    :(place("relayout") - 0.35):(place("relayout") + 0.35) title key("relayout", "relayout") \
    with boxxyerror linecolor rgb "#4472a8", \
  csv using (point("copy")):(place("copy")) title key("copy", "copy kernel") \
    with points pointtype 1 pointsize 0.6 linecolor rgb "#222222", \
  csv using (point("memcpy")):(place("memcpy")) title key("memcpy", "memcpy") \
    with points pointtype 2 pointsize 0.6 linecolor rgb "#555555", \
  csv using (point("hptt")):(place("hptt")) title key("hptt", "HPTT") \
    with points pointtype 7 pointsize 0.5 linecolor rgb "#c55a11", \
  csv using (point("onednn")):(place("onednn")) title key("onednn", "oneDNN") \
    with points pointtype 5 pointsize 0.5 linecolor rgb "#548235", \
  csv using (point("openblas")):(place("openblas")) title key("openblas", "OpenBLAS") \
    with points pointtype 9 pointsize 0.6 linecolor rgb "#7f3f98", \
  csv using (point("naive")):(place("naive")) title key("naive", "naive") \
    with points pointtype 1 pointsize 0.6 linecolor rgb "#b00020"
