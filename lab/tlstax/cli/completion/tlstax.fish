# Completes what is typed after tlstax, in fish.
@TABLES@

function __tlstax
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l place ''
    set -l option ''
    for word in $words[2..-1]
        if test -n "$option"
            set option ''
        else if string match -q -- '-*' $word
            if not string match -q -- '*=*' $word; and test -n "$(__tlstax_values "$place $word")"
                set option $word
            end
        else if __tlstax_commands "$place" | string match -q -- $word\t'*'
            set place (string trim -- "$place $word")
        end
    end
    set -l before ''
    set -l kind ''
    set -l traits
    set -l found
    if test -z "$option"; and string match -q -- '--*=*' $current
        set option (string replace -r '=.*' '' -- $current)
        set before "$option="
    end
    if test -n "$option"
        set kind (__tlstax_values "$place $option")
    else if string match -q -- '-*' $current
        set found (__tlstax_options "$place")
    else
        set found (__tlstax_commands "$place")
        if test (count $found) -eq 0
            set kind (__tlstax_values "$place :")
        end
    end
    if test -n "$kind"
        set traits (__tlstax_traits "$kind")
        set found (__tlstax_words "$kind")
        if contains asked $traits
            set -a found ($words[1] @WORD@ $kind 2>/dev/null </dev/null)
        end
        if contains list $traits; and string match -q -- '*,*' $current
            set before (string replace -r '[^,]*$' '' -- $current)
        end
    end
    for line in $found
        printf '%s\n' "$before$line"
    end
    if contains files $traits
        for line in (__fish_complete_path (string sub -s (math (string length -- "$before") + 1) -- "$current"))
            printf '%s\n' "$before$line"
        end
    end
end
complete -c tlstax -f -a '(__tlstax)'
