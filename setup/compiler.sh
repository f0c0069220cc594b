# A Rust compiler and a C linker in the cache, for a user who may not install any; programs there that start them.
# shellcheck shell=bash disable=SC2154  # the variables of places.sh and steps.sh

# Fetches the packages named, gcc among them and rustc where that is missing too. The marker `complete` comes last.
fetch_compiler() {
    local program
    rm -rf -- "$compiler" && mkdir -p -- "$compiler/bin" "$compiler/lib" || return
    fetch_packages "$compiler/root" "$@" && write_starters && link_libraries || return
    for program in "$compiler"/bin/*; do unseen "$program" --version || return; done
    : >"$compiler/complete"
}

# Rust's programs run by the loader and the C library that came with them. The C compiler starts others by itself, so it
# and they run by the machine's loader, and find their libraries by the environment. A program that it made does not.
write_starters() {
    local root=$compiler/root program found
    local libraries=("$root"/usr/lib/*-linux-gnu*)
    local loader=("${libraries[0]}"/ld-linux*.so.*)
    for program in rustc cargo; do
        for found in "$root"/usr/lib/rust-*/bin/"$program" "$root/usr/bin/$program"; do
            if [[ ! -x $found ]]; then continue; fi # nor is it anywhere if only a linker was missing
            write_starter "$program" "$(printf 'exec %q --library-path %q %q "$@"' \
                "${loader[0]}" "${libraries[0]}" "$found")" || return
        done
    done
    # shellcheck disable=SC2016  # the starter expands PATH and its arguments
    write_starter cc "$(printf 'export LD_LIBRARY_PATH=%q PATH=%q:$PATH\nexec %q --sysroot=%q "$@"' \
        "$compiler/lib" "$root/usr/bin" "$root/usr/bin/gcc" "$root")" || return
    # What is written in C in a package of Rust's is put into an archive.
    # shellcheck disable=SC2016  # as above
    write_starter ar "$(printf 'export LD_LIBRARY_PATH=%q\nexec %q "$@"' "$compiler/lib" "$root/usr/bin/ar")"
}

write_starter() {
    printf '#!/bin/bash\n%s\n' "$2" >"$compiler/bin/$1" && chmod +x -- "$compiler/bin/$1"
}

# All libraries but those of the C library's package: the machine's loader works with its own C library alone.
link_libraries() {
    local library of_libc
    of_libc=$(for library in "$archives"/libc6_*.deb; do
        dpkg-deb --fsys-tarfile "$library" | tar -t
    done) || return
    for library in "$compiler"/root/usr/lib/*-linux-gnu*/*.so*; do
        if ! grep -qF "/${library##*/}" <<<"$of_libc"; then ln -sf "$library" "$compiler/lib/" || return; fi
    done
}
