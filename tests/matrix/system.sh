# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
#
# New systems, which scripts read in: needs root and a mirror of Debian (MIRROR).

readonly MIRROR=${MIRROR:-http://deb.debian.org/debian}
readonly JOBS=${JOBS:-2}

# new_system FOLDER RELEASE: as it comes, without what is optional. All of Ubuntu's are made
# alike; debootstrap may not know this one yet, but does know one and the mirror.
new_system() {
  local scripts=${DEBOOTSTRAP_DIR:-/usr/share/debootstrap}/scripts
  rm -rf "$1"
  if [[ $2 == noble ]]; then
    debootstrap --variant=minbase --components=main,universe noble "$1" \
      "$(sed -n 's/.*default_mirror \(.*archive.*\)/\1/p' "$scripts/gutsy")" gutsy
  else
    debootstrap --variant=minbase "$2" "$1" "$MIRROR"
  fi
}

# Copy the tree as it is, without what git ignores, into the folder.
copy_tree() {
  mkdir -p "$1"
  git ls-files -z --cached --others --exclude-standard |
    tar --null --files-from=- -c | tar -x -C "$1"
}

# in_system FOLDER COMMAND...: in the system there, by an environment of its own, with
# what a machine or a container has of the kernel. Mounts and processes go with the
# command, whatever ends it.
in_system() {
  # shellcheck disable=SC2016  # the inner shell's variables
  unshare --mount --pid --fork --kill-child sh -ec 'work=$1; shift
    mount -t proc proc "$work/proc"
    mount --rbind /sys "$work/sys"
    mount --rbind /dev "$work/dev"
    exec chroot "$work" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@"' \
    sh "$1" HOME=/root JOBS="$JOBS" "${@:2}"
}

# unpack FOLDER ARCHITECTURE PACKAGE,...: the packages of Debian 12 and what they need, only
# unpacked, since no script of another machine's can run here.
unpack() {
  mmdebstrap --quiet --variant=extract --architectures="$2" --include="$3" bookworm "$1" \
    "$MIRROR"
}
