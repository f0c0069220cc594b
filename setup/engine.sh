# Builds the load engine, the floor it is compared with, what measures libraries alone, draws flame graphs, makes distances
# and watches a process elsewhere, and keeps them under the hash of the sources they were built from.
# shellcheck shell=bash disable=SC2154  # the variables of places.sh and system.sh

engine_programs=(tlstax-floor tlstax-library-bench tlstax-flames tlstax-link tlstax-watch tlstax-engine)
# What cargo is told for what is linked to a C library and for what is linked statically, and where in the target folder
# either ends: other words where programs are built for other machines (setup/programs).
linked_build=(build) linked_in=release
static_build=(build) static_in='' # empty: this machine's own target

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

# Where a program of the two below is, in the folder that they were built into.
built_program() {
    local into=$linked_in
    if [[ $2 =~ -(watch|flames|link)$ ]]; then into=${static_in:-static/$(host_target)/helper}; fi
    printf '%s/%s/%s' "$1" "$into" "$2"
}

host_target() { "$rust/rustc" -vV | sed -n 's/^host: //p'; }

# Both into the folder `target`.
compile_engine() {
    unseen env -u CARGO_BUILD_TARGET PATH="$rust:$PATH:$compiler/bin" cargo "${linked_build[@]}" --release --locked --color never \
        --manifest-path "$root/engine/Cargo.toml" --target-dir "$target" \
        --package tlstax-engine --package tlstax-floor --package tlstax-library-bench
}

# What runs on other machines is linked statically, and whatever else no measured operation runs through with it. The target is
# named so that the linker's flags are not those of macros, which cannot be linked so.
compile_static() {
    local target_words=()
    if [[ -z $static_in ]]; then target_words=(--target "$(host_target)"); fi
    unseen env -u CARGO_BUILD_TARGET PATH="$rust:$PATH:$compiler/bin" \
        RUSTFLAGS="-C target-feature=+crt-static -C strip=symbols" cargo "${static_build[@]}" "${target_words[@]}" --profile helper --locked --color never \
        --manifest-path "$root/engine/Cargo.toml" --target-dir "$target/static" \
        --package tlstax-watch --package tlstax-flames --package tlstax-link
}
