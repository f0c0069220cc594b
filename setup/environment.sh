# Makes the Python environment from a hash-locked requirement file.
# shellcheck shell=bash disable=SC2154  # the variables of places.sh and system.sh

# An environment cannot be moved, so it is made where it stays; its marker `complete` comes last.
make_environment() {
    environment=$cache/environments/$environment_key-python$python_version
    { rm -rf -- "$environment" && mkdir -p -- "$cache/environments"; } 2>/dev/null || fail_to_write
    step "installing the Python packages (once, about a minute)" install_requirements ||
        fail_step "installing the Python packages"
    { : >"$environment/complete"; } 2>/dev/null || fail_to_write
}

# On x86-64 every package is a wheel; elsewhere pip may have to compile one, with the headers of Python.
install_requirements() {
    unset PYTHONHOME PYTHONPATH
    unseen "$python" -I -m venv "$environment" &&
        unseen env PIP_USER=0 "$environment/bin/python" -I -m pip install --no-input \
            --disable-pip-version-check --require-hashes -r "$root/$requirements"
}
