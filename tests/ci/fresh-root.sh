#!/bin/bash
# Finds packages that kforge needs and does not ask for: clones the repository into a Debian with nothing but the base system and git, and runs
# a command there. Not part of ./run test: it needs root, debootstrap and a Debian mirror.
#
#   tests/ci/fresh-root.sh [COMMAND…]      default: ./run test
#
# The mirror is that of this machine's own apt, or $MIRROR; the release is $SUITE (bookworm). KEEP=1 leaves the folder behind.
set -euo pipefail
source_root=$(cd "$(dirname "$0")/../.." && pwd)
suite=${SUITE:-bookworm}
mirror=${MIRROR:-$(apt-get indextargets --format '$(SITE) $(RELEASE)' 2>/dev/null | awk -v suite="$suite" '$2 == suite { print $1; exit }')}
[ -n "$mirror" ] || { echo "no mirror for $suite in apt's sources; set MIRROR" >&2; exit 3; }
[ "$(id -u)" = 0 ] || { echo "debootstrap and chroot need root" >&2; exit 3; }
command -v debootstrap >/dev/null || { echo "install debootstrap" >&2; exit 3; }
target=$(mktemp -d)
chmod 755 "$target" # it will be / to ordinary users, too
finish() {
    for point in dev/shm dev/pts dev proc sys; do if mountpoint -q "$target/$point"; then umount "$target/$point" || umount -l "$target/$point"; fi; done
    if [ -n "${KEEP:-}" ]; then echo "left in $target" >&2; else rm -rf --one-file-system "$target"; fi
}
trap finish EXIT
debootstrap --variant=minbase --include=git,ca-certificates "$suite" "$target" "$mirror" >"$target.log" 2>&1 || { tail -n 20 "$target.log"; exit 3; }
rm -f "$target.log"
# Copies this machine's access to its mirrors, and nothing else of its configuration.
rm -f "$target/etc/apt/sources.list"
cp -aL /etc/apt/sources.list.d/. "$target/etc/apt/sources.list.d/" 2>/dev/null || true
[ ! -f /etc/apt/sources.list ] || cp /etc/apt/sources.list "$target/etc/apt/"
cp -aL /etc/apt/apt.conf.d/. "$target/etc/apt/apt.conf.d/" 2>/dev/null || true
mkdir -p "$target/usr/share/keyrings" "$target/etc/apt/trusted.gpg.d"
cp -aLn /usr/share/keyrings/. "$target/usr/share/keyrings/" 2>/dev/null || true
cp -aLn /etc/apt/trusted.gpg.d/. "$target/etc/apt/trusted.gpg.d/" 2>/dev/null || true
cp -aL /usr/local/share/ca-certificates/. "$target/usr/local/share/ca-certificates/" 2>/dev/null || true
cp -aL /etc/ssl/certs/ca-certificates.crt "$target/etc/ssl/certs/" 2>/dev/null || true
cp -L /etc/resolv.conf /etc/hosts "$target/etc/" 2>/dev/null || true
mount -t proc proc "$target/proc"
mount --bind /sys "$target/sys"
mount --bind /dev "$target/dev"
mount --bind /dev/pts "$target/dev/pts"
[ ! -d /dev/shm ] || mount --bind /dev/shm "$target/dev/shm"
git clone -q --no-hardlinks "$source_root" "$target/root/kforge"
[ $# -gt 0 ] || set -- ./run test
env -i HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin TERM=dumb \
    ${http_proxy+http_proxy="$http_proxy"} ${https_proxy+https_proxy="$https_proxy"} ${KFORGE_FUZZ_SECONDS+KFORGE_FUZZ_SECONDS="$KFORGE_FUZZ_SECONDS"} \
    chroot "$target" sh -c 'cd /root/kforge && exec "$@"' sh "$@"
