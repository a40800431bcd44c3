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
  tics = tics . sprintf("set xtics add ('%s' %d); ", name, number), number)
stats csv using (is_shown("copy") ? note(column("number"), strcol("case")) : NaN) nooutput
# An empty title leaves a contestant out of the key.
seen = " "
see(name) = (seen = strstrt(seen, " " . name . " ") ? seen : seen . name . " ", 1)
stats csv using (strcol("suite") eq suite ? see(strcol("contestant")) : NaN) nooutput
key(name, title) = strstrt(seen, " " . name . " ") ? title : ""

set terminal svg size 1000,440 noenhanced font "sans-serif,11" background "white"
set output out
set title sprintf("%s: fraction of the faster copy's rate in the same turn (%s)", \
  suite, value eq "fraction" ? "median" : "best")
set xtics rotate by -60 nomirror scale 0 font ",8" ()
eval tics
set ytics 0.2 nomirror
set grid ytics
set border 3
set key outside right top
set yrange [0:1.3]
set style fill solid 0.85 border
set boxwidth 0.7
set xrange [0.3:count + 0.7]

plot 1 notitle with lines dashtype 2 linecolor rgb "#888888", \
  csv using (place("relayout")):(column(value)) title key("relayout", "relayout") \
    with boxes linecolor rgb "#4472a8", \
  csv using (place("copy")):(column(value)) title key("copy", "copy kernel") \
    with points pointtype 1 pointsize 0.6 linecolor rgb "#222222", \
  csv using (place("memcpy")):(column(value)) title key("memcpy", "memcpy") \
    with points pointtype 2 pointsize 0.6 linecolor rgb "#555555", \
  csv using (place("hptt")):(column(value)) title key("hptt", "HPTT") \
    with points pointtype 7 pointsize 0.5 linecolor rgb "#c55a11", \
  csv using (place("onednn")):(column(value)) title key("onednn", "oneDNN") \
    with points pointtype 5 pointsize 0.5 linecolor rgb "#548235", \
  csv using (place("openblas")):(column(value)) title key("openblas", "OpenBLAS") \
    with points pointtype 9 pointsize 0.6 linecolor rgb "#7f3f98", \
  csv using (place("naive")):(column(value)) title key("naive", "naive") \
    with points pointtype 1 pointsize 0.6 linecolor rgb "#b00020"
