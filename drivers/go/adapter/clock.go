// The host's clock, read without a call of the system's.
package adapter

import (
	"time"

	"golang.org/x/sys/unix"
)

// start is when this process looked at both clocks: the runtime's, which is CLOCK_MONOTONIC since a time of its
// own, and the kernel's.
var start, startNs = bothClocks()

// now is CLOCK_MONOTONIC in nanoseconds.
func now() int64 { return startNs + int64(time.Since(start)) }

// bothClocks reads the kernel's clock between two readings of the runtime's, as close to each other as can be.
func bothClocks() (time.Time, int64) {
	var closest time.Duration = -1
	var at time.Time
	var ns int64
	for range 50 {
		var kernel unix.Timespec
		before := time.Now()
		if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &kernel); err != nil {
			panic(err)
		}
		if apart := time.Since(before); closest < 0 || apart < closest {
			closest, at, ns = apart, before, kernel.Nano()-int64(apart/2)
		}
	}
	return at, ns
}
