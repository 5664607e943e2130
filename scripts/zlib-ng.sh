#!/bin/bash
# zlib-ng.sh: makes sure that zlib-ng, native API, is there; prints where its .pc file is.
#
# Debian 12 has no package of it. The source distribution of the Python package zlib-ng
# carries its C sources; they are built as an archive, outside the tree.
. "$(dirname "$0")/common.sh"

version=$(sed -n 's/^zlib-ng==\([^ ]*\).*/\1/p' requirements/zlib-ng.txt)
prefix=${XDG_CACHE_HOME:-$HOME/.cache}/agz/zlib-ng-$version

# Under `||` the shell does not stop at an error by itself.
build() {
	work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT &&
		pip download --no-deps --no-binary zlib-ng --require-hashes \
			--dest "$work" -r requirements/zlib-ng.txt &&
		tar -xzf "$work"/zlib_ng-*.tar.gz -C "$work" &&
		cmake -S "$work"/zlib_ng-*/src/zlib_ng/zlib-ng -B "$work/build" -G Ninja \
			-DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX="$prefix" \
			-DCMAKE_INSTALL_LIBDIR=lib -DCMAKE_POSITION_INDEPENDENT_CODE=ON \
			-DBUILD_SHARED_LIBS=OFF -DZLIB_COMPAT=OFF -DBUILD_TESTING=OFF \
			-DWITH_GZFILEOP=OFF &&
		cmake --build "$work/build" &&
		DESTDIR=$work/root cmake --install "$work/build" &&
		mkdir -p "$(dirname "$prefix")" &&
		rm -rf "$prefix" &&
		# It appears whole or not at all.
		mv "$work/root$prefix" "$prefix"
}

if [ ! -e "$prefix/lib/pkgconfig/zlib-ng.pc" ]; then
	say "building zlib-ng into $prefix" >&2
	logged .cache/log/zlib-ng.log build || die "zlib-ng cannot be built"
fi
printf '%s\n' "$prefix/lib/pkgconfig"
