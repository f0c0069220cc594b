# Debian packages where nobody may install any: apt resolves and downloads in a state of its own, dpkg-deb unpacks.
#
# The machine's sources and keys are used, so every list and package is checked by the signatures that its apt checks.
# Its package database is neither read nor changed, and no maintainer script runs.
# shellcheck shell=bash disable=SC2154  # the variables of places.sh and steps.sh

# What apt is asked with: nothing for the machine's own lists, APT_CONFIG for the private ones.
apt_environment=()

# Makes the private state and fetches the lists of the machine's sources. What an earlier start downloaded is kept.
begin_private_apt() {
    private_apt=$cache/setup-apt
    mkdir -p -- "$private_apt"/{state/lists/partial,cache} || return
    : >"$private_apt/state/status" || return
    {
        # Proxies and time limits stay the machine's; its hooks do not run.
        apt-config dump --format '%F "%v";%n' Acquire
        printf '%s "%s";\n' Dir::Etc::main /dev/null Dir::Etc::parts /dev/null Dir::Etc::preferencesparts /dev/null \
            Dir::State "$private_apt/state" Dir::State::status "$private_apt/state/status" \
            Dir::Cache "$private_apt/cache" Dir::Log "$private_apt" \
            APT::Sandbox::User "$(id --user --name)" APT::Install-Recommends false \
            APT::Get::AllowUnauthenticated false Acquire::AllowInsecureRepositories false \
            Acquire::Languages none Acquire::Retries 2
    } >"$private_apt/apt.conf" || return
    apt_environment=(APT_CONFIG="$private_apt/apt.conf")
    unseen env "${apt_environment[@]}" LC_ALL=C apt-get update
}

# Downloads packages and all that they need, and unpacks them below a folder; their files stay in `archives`.
fetch_packages() {
    local tree=$1 merged file
    shift
    archives=$private_apt/archives-${tree##*/}
    mkdir -p -- "$archives/partial" || return
    local apt=(env "${apt_environment[@]}" LC_ALL=C apt-get --yes -o Dir::Cache::archives="$archives")
    unseen "${apt[@]}" autoclean && unseen "${apt[@]}" --download-only install "$@" || return
    # Packages hold files both below /lib and below /usr/lib, which is one folder since Debian 12.
    for merged in lib lib64 bin sbin; do
        mkdir -p -- "$tree/usr/$merged" && ln -sfn "usr/$merged" "$tree/$merged" || return
    done
    for file in "$archives"/*.deb; do
        # shellcheck disable=SC2016  # the shell that is started expands its arguments
        unseen bash -o pipefail -c 'dpkg-deb --fsys-tarfile "$1" | tar -x --keep-directory-symlink -C "$2"' \
            unpack "$file" "$tree" || return
    done
}

# How much there is to download for packages, in MB.
megabytes_of() {
    env "${apt_environment[@]}" LC_ALL=C apt-get --yes --print-uris -qq install "$@" 2>/dev/null |
        awk '{ bytes += $3 } END { printf "%.0f", bytes / 1e6 }'
}

end_private_apt() { rm -rf -- "$cache/setup-apt"; }

apt_cache() { env "${apt_environment[@]}" LC_ALL=C apt-cache "$@" 2>/dev/null; }

# The version of a package that apt would install, "" where there is none or no apt.
apt_version() {
    if ! type -P apt-cache >/dev/null; then return; fi
    apt_cache policy "$1" | sed -n 's/^ *Candidate: *\([0-9][^+~-]*\).*/\1/p'
}
