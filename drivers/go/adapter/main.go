// An adapter: the setup from standard input, and a goroutine for the orders of each channel.
package adapter

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
)

// Main is an adapter of this driver. It ends with its standard input.
func Main(driver *Driver) {
	// Told how many processors to use, the runtime does not look for a change once a second.
	runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	input := bufio.NewReader(pipe(0))
	line, err := input.ReadBytes('\n')
	if err != nil {
		os.Exit(0)
	}
	for _, one := range configured(driver, line) {
		go one.serve()
	}
	_, _ = io.Copy(io.Discard, input)
	os.Exit(0)
}

// configured says whether the driver takes what it is told, and makes a worker for each channel. Where it does
// not, there are none.
func configured(driver *Driver, line []byte) []*worker {
	var setup Setup
	if err := json.Unmarshal(line, &setup); err != nil {
		say(failed(BadJob("the setup cannot be read: %s", err)))
		return nil
	}
	version := linkedVersion(driver.Module)
	workers := make([]*worker, len(setup.Channels))
	for place, channel := range setup.Channels {
		open, err := driver.Configure(&setup)
		if err != nil {
			say(failed(refusal(err)))
			return nil
		}
		workers[place] = &worker{
			setup: &setup, errors: &driver.Errors, version: version, connect: open, numbered: driver.Numbered,
			in: bufio.NewReaderSize(pipe(channel[0]), 1<<16), out: pipe(channel[1]),
		}
	}
	takes := []string{"server_name"}
	if driver.Direct {
		takes = append(takes, "direct")
	}
	say(answer(map[string][]string{"takes": takes}))
	return workers
}

func say(line []byte) { _, _ = os.Stdout.Write(line) }

// pipe is one of the host's, without blocking: the runtime then waits for it along with the sockets. In a read
// that blocks it would hold on to a processor of its own (GOMAXPROCS), and the connections would wait until that
// is noticed.
func pipe(descriptor int) *os.File {
	_ = syscall.SetNonblock(descriptor, true)
	return os.NewFile(uintptr(descriptor), "pipe")
}

// linkedVersion is the version of a module that was linked in.
func linkedVersion(path string) string {
	if built, known := debug.ReadBuildInfo(); known {
		for _, module := range built.Deps {
			if module.Path == path {
				return strings.TrimPrefix(module.Version, "v")
			}
		}
	}
	return "unknown"
}
