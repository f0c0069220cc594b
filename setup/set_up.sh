# Sets up what is missing: system packages, then the Python environment and the engine side by side; resumable.
# shellcheck shell=bash disable=SC2154  # the variables of places.sh

# shellcheck source=setup/steps.sh
source "$root/setup/steps.sh"
# shellcheck source=setup/debian.sh
source "$root/setup/debian.sh"
# shellcheck source=setup/compiler.sh
source "$root/setup/compiler.sh"
# shellcheck source=setup/system.sh
source "$root/setup/system.sh"
# shellcheck source=setup/environment.sh
source "$root/setup/environment.sh"
# shellcheck source=setup/engine.sh
source "$root/setup/engine.sh"

# Afterwards `environment` and `engine` name what was found or made. Takes more Debian packages to install.
set_up() {
    begin_steps
    pip= # the path of a pip that was fetched, where Python has none
    # Another tlstax may have set up everything while this one waited for its turn.
    find_environment
    find_engine
    provide_system_packages "$@"
    make_what_is_missing
    # What this start is about to run may have been used last a month ago.
    note_use
    remove_unused
    end_steps
}

# The environment is mostly downloaded and the engine compiled, so both are made at once.
make_what_is_missing() {
    local rows=() makes_environment='' target built_from failed='' without_pip run_pip
    if [[ -z $environment ]]; then
        makes_environment=yes
        begin_environment
        say "installing the Python packages (once)…"
        rows+=("installing the Python packages=make_virtual_environment,install_requirements")
    fi
    if [[ -z $engine ]]; then
        begin_engine
        say "building the load engine (once, one or two minutes)…"
        rows+=("building the load engine=compile_engine,compile_watch")
    fi
    if ((${#rows[@]} == 0)); then return; fi
    side_by_side "${rows[@]}" || fail_step "$failed"
    if [[ -n $makes_environment ]]; then end_environment; fi
    # Sources that changed while they were compiled are compiled once more.
    if [[ -z $engine ]] && ! end_engine; then make_what_is_missing; fi
}

# What no start has used for a month (the compiler among it), and environments that were never finished. Holding the lock, this
# is the only set-up, so an unfinished environment is nobody's.
remove_unused() {
    local folder
    for folder in "$cache"/environments/*/; do
        if [[ ! -e $folder/complete ]]; then rm -rf -- "$folder"; fi
    done
    mkdir -p -- "$cache/engines"
    find "$cache/environments" "$cache/engines" -mindepth 2 -maxdepth 2 \
        \( -name complete -o -name used \) -mtime +30 -printf '%h\0' | xargs -0r rm -rf --
    if [[ ! -e $compiler/complete || -n $(find "$compiler/complete" -mtime +30) ]]; then rm -rf -- "$compiler"; fi
}
