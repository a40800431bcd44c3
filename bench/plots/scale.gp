# SPDX-License-Identifier: Apache-2.0
#
# What redistributions cost by the number of ranks:
#   bench/plots/scale.py build/relayout >scale.csv
#   gnuplot -e "csv='scale.csv'; out='scale.svg'" bench/plots/scale.gp

if (!exists("csv")) csv = "scale.csv"
if (!exists("out")) out = "scale.svg"

set datafile separator comma
set datafile columnheaders
# Those whose curves are the same are one.
cases = "'rows to columns' 'grid to grid' all-gather"
titles = "'rows to columns, xla#15207' 'grid to grid' 'all-gather, reduce-scatter'"
colors = "#4472a8 #548235 #b00020"
of(name, value) = strcol("case") eq name ? column(value) : NaN

# As wide as can be read on a phone.
set terminal svg size 480,960 noenhanced font "sans-serif,13" background "white"
set output out
set logscale x 2
set logscale y 10
set xrange [7:4600]
set xtics (8, 64, 512, 4096) nomirror
set ytics nomirror
set grid ytics
set border 3
set lmargin 9
set multiplot layout 3,1 title "redistributions of 1 GiB, by the number of ranks"

# Room for the key.
set yrange [1e4:*]
set key left bottom Left reverse samplen 1
set title "bytes into a device"
set format y "%.0s %cB"
plot for [k=1:3] csv using "ranks":(of(word(cases, k), "received")) \
    title word(titles, k) with linespoints pointtype 7 pointsize 0.5 \
    linecolor rgb word(colors, k)

unset key
set yrange [*:*]
set title "rounds of a pairwise exchange"
set format y "%.0f"
plot for [k=1:3] csv using "ranks":(of(word(cases, k), "rounds")) \
    with linespoints pointtype 7 pointsize 0.5 linecolor rgb word(colors, k)

set title "scratch of a device"
set format y "%.0s %cB"
plot for [k=1:3] csv using "ranks":(of(word(cases, k), "scratch")) \
    with linespoints pointtype 7 pointsize 0.5 linecolor rgb word(colors, k)
unset multiplot
