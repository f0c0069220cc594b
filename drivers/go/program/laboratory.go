// What the laboratory says on standard input: the job, the lengths of slices, the end.
package program

import (
	"bufio"
	"io"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// longestS is a year: no time is longer (contract/README.md).
const longestS = 365.25 * 86400

// laboratory is the other end. `said` are its lines, closed when it is gone after all was done; before that its
// going ends the process.
type laboratory struct {
	said chan string
	done atomic.Bool
}

// standardInput is read without blocking, where it is a pipe as the laboratory's is: the runtime then waits for it
// along with the sockets. In a read that blocks it would hold on to a processor of its own (GOMAXPROCS), and the
// connections would wait until that is noticed.
func standardInput() *os.File {
	var seen unix.Stat_t
	if unix.Fstat(0, &seen) == nil && seen.Mode&unix.S_IFMT == unix.S_IFIFO && unix.SetNonblock(0, true) == nil {
		return os.NewFile(0, "standard input")
	}
	return os.Stdin
}

// listen hears all lines.
func listen(input io.Reader) *laboratory {
	heard := &laboratory{said: make(chan string)}
	go func() {
		buffered := bufio.NewReader(input)
		for {
			line, err := buffered.ReadString('\n')
			if line != "" {
				heard.said <- line
			}
			if err != nil {
				break
			}
		}
		if !heard.done.Load() {
			os.Exit(0)
		}
		close(heard.said)
	}()
	return heard
}

// asked is what a line asks for.
type asked int

const (
	nothing asked = iota
	goOn
	endOfSlices
)

// order is what a line asks for, and the length of the slice. Lines that it does not know ask for nothing.
func order(line string) (time.Duration, asked, *Failure) {
	words := strings.Fields(line)
	switch {
	case len(words) == 1 && words[0] == "end":
		return 0, endOfSlices, nil
	case len(words) == 0 || words[0] != "go":
		return 0, nothing, nil
	case len(words) == 2:
		length, err := strconv.ParseFloat(words[1], 64)
		if err == nil && length > 0 && length <= longestS {
			return max(Seconds(length), 1), goOn, nil
		}
	}
	return 0, nothing, BadJob("`%s` has no length of a slice: a number of seconds above 0, a year at most",
		strings.Join(words, " "))
}
