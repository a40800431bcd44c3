#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Makes the manual pages: of the command and of each verb by their --help, of relayout-mpi,
# if it is built, by that of its only verb, and relayout-layout(7) by the page about shapes,
# if there is a pandoc.
#   make_manual.sh <command> <relayout-mpi or ""> <help2man> <pandoc or ""> \
#     <docs/shapes.md> <folder>
set -eu

command=$1
mpi_command=$2
help2man=$3
pandoc=$4
shapes=$5
folder=$6
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The name in pages, wherever the command lies.
ln -s "$command" "$work/relayout"
PATH=$work:$PATH
version=$(relayout --version)
verbs=$(relayout help | sed -n 's/^  \([a-z]*\)  *[a-z].*/\1/p' | grep -v '^help$')

# make_page <name> <what it does> <command line> <pages to see also>
make_page() {
  printf '[SEE ALSO]\n%s\n' "$4" >"$work/include"
  "$help2man" --no-info --version-string="${version#* }" --source="$version" \
    --name="$2" --include="$work/include" "$3" >"$work/page"
  title=$(printf '%s' "$1" | tr '[:lower:]' '[:upper:]')
  sed -e "s/^\.TH RELAYOUT /.TH $title /" -e "s/^$3 \\\\- /$1 \\\\- /" \
    "$work/page" >"$folder/man1/$1.1"
}

rm -rf "$folder"
mkdir -p "$folder/man1" "$folder/man7"
others=
for verb in $verbs; do
  what=$(relayout help | sed -n "s/^  $verb  *\([a-z].*\)/\1/p")
  make_page "relayout-$verb" "$what" "relayout $verb" \
    'relayout(1), relayout-layout(7)'
  others="${others}relayout-$verb(1), "
done
make_page relayout "$(relayout help | sed -n '1s/relayout moves \(.*\)\./move \1/p')" \
  relayout "${others}relayout-layout(7)"
if [ -n "$mpi_command" ]; then
  ln -s "$mpi_command" "$work/relayout-mpi"
  make_page relayout-mpi \
    "$(relayout-mpi help | sed -n '1s/relayout-mpi lets \(.*\)\./let \1/p')" \
    "relayout-mpi convert" 'relayout-convert(1), relayout-layout(7)'
fi

if [ -n "$pandoc" ]; then
  {
    printf '# NAME\n\nrelayout-layout - shapes and layouts of arrays, as text\n\n'
    printf '# DESCRIPTION\n\n'
    sed 1d "$shapes"
    printf '\n# SEE ALSO\n\nrelayout(1)\n'
  } | "$pandoc" -s -f gfm -t man -V title=RELAYOUT-LAYOUT -V section=7 \
    -V "footer=$version" | sed '/^\.TH /a .ad l' >"$folder/man7/relayout-layout.7"
fi
