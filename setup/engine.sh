# Builds the load engine, the program with all that stands beside it, and what watches a process elsewhere, and keeps them
# under the hash of the sources they were built from.
# shellcheck shell=bash disable=SC2154  # the variables of places.sh and system.sh

engine_programs=(tlstax-tools tlstax-watch tlstax-engine)
# What cargo is told for what is linked to a C library and for what is linked statically, and where in the target folder
# either ends: other words where programs are built for other machines (setup/programs).
linked_build=(build) linked_in=release
static_build=(build) static_in=static/helper

# A clone that this user may not write to is built in the cache, and the intermediate files go.
begin_engine() {
    target=$root/engine/target built_from=$engine_key
    if ! mkdir -p -- "$target" 2>/dev/null || [[ ! -w $target ]]; then target=$scratch/target; fi
}

# Keeps what was compiled, unless the sources have changed meanwhile, which would be kept under the wrong name.
end_engine() {
    find_places "$root" "$requirements"
    if [[ $engine_key != "$built_from" ]]; then return 1; fi
    engine=$cache/engines/$engine_key/tlstax-engine
    # Renames, because another tlstax may look for the engine at this moment; the engine last, since
    # where it is everything is.
    local program
    for program in "${engine_programs[@]}"; do
        {
            mkdir -p -- "${engine%/*}" &&
                cp -- "$(built_program "$target" "$program")" "$scratch/$program" &&
                mv -f -- "$scratch/$program" "${engine%/*}/$program"
        } 2>&"$to_log" || fail_step "keeping the engine in $cache"
    done
}

# What runs on other machines is linked statically, and so built apart.
built_program() {
    if [[ $2 == tlstax-watch ]]; then printf '%s/%s/%s' "$1" "$static_in" "$2"; else printf '%s/%s/%s' "$1" "$linked_in" "$2"; fi
}

# Into the folder `target`.
compile_engine() {
    unseen env -u CARGO_BUILD_TARGET PATH="$rust:$PATH:$compiler/bin" cargo "${linked_build[@]}" --release --locked --color never \
        --manifest-path "$root/engine/Cargo.toml" --target-dir "$target" \
        --package tlstax-engine --package tlstax-tools
}

compile_watch() {
    unseen env -u CARGO_BUILD_TARGET PATH="$rust:$PATH:$compiler/bin" \
        RUSTFLAGS="-C target-feature=+crt-static -C strip=symbols" cargo "${static_build[@]}" --profile helper --locked --color never \
        --manifest-path "$root/engine/Cargo.toml" --target-dir "$target/static" --package tlstax-watch
}
