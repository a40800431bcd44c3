# SPDX-License-Identifier: Apache-2.0
#
# The table of docs/performance.md that bench/transpose.py fills, new arrays, as bars:
#   gnuplot -e "out='docs/plots/peers.svg'" bench/plots/peers.gp

if (!exists("out")) out = "peers.svg"

# Of lines behind its heading: case, relayout, torch, jax, NumPy.
table = "< awk -F' *[|] *' '/^## /{is_it = /From Python/} is_it && $3 ~ /^[0-9]/" \
  . "{print $2 \"|\" $7 \"|\" $9 \"|\" $10 \"|\" $8}' docs/performance.md"
names = "relayout torch jax NumPy"
colors = "#4472a8 #c55a11 #548235 #8c8c8c"

set datafile separator "|"
set terminal svg size 480,470 noenhanced font "sans-serif,13" background "white"
set output out
set label "transposed into a new array, GB/s read and written" at screen 0.5,0.96 center
set border 2
set grid xtics
set xtics 4 nomirror scale 0
set ytics nomirror scale 0
set yrange [8.6:-0.5]
set xrange [0:*]
set key at screen 0.5,0.045 center horizontal maxrows 1 samplen 1 width -2
set style fill solid 0.9 noborder
set tmargin 2.5
set bmargin 4.2

# Bars of a case lie below each other.
top(k) = $0 - 0.42 + 0.21 * (k - 1)
plot table using (-1):0:ytic(1) notitle with points pointtype 0, \
  for [k=1:4] table using (column(k + 1) / 2):(top(k) + 0.09):(0):(column(k + 1)) \
    :(top(k)):(top(k) + 0.18) \
    with boxxyerror linecolor rgb word(colors, k) title word(names, k)
