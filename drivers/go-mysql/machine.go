// The process as the kernel sees it: its CPU time, and the processors that it may run on.
package main

import (
	"os"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"
)

// cpuTime is what the process has used, in microseconds: the total by a nanosecond clock, the split as the kernel
// has it.
type cpuTime struct {
	Total  float64 `json:"total_us"`
	User   float64 `json:"user_us"`
	System float64 `json:"system_us"`
}

func cpuUsed() cpuTime {
	var total unix.Timespec
	var usage unix.Rusage
	_ = unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &total)
	_ = unix.Getrusage(unix.RUSAGE_SELF, &usage)
	return cpuTime{
		float64(total.Nano()) / 1000, float64(usage.Utime.Nano()) / 1000, float64(usage.Stime.Nano()) / 1000,
	}
}

func (c cpuTime) since(before cpuTime) cpuTime {
	return cpuTime{c.Total - before.Total, c.User - before.User, c.System - before.System}
}

// pin keeps all threads on these processors, and lets the runtime use so many at once, as it would have had it
// been started there. Threads that come later inherit it.
func pin(cpus []int) error {
	if len(cpus) == 0 {
		return nil
	}
	var set unix.CPUSet
	for _, cpu := range cpus {
		set.Set(cpu)
	}
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return err
	}
	for _, task := range tasks {
		number, _ := strconv.Atoi(task.Name())
		if err := unix.SchedSetaffinity(number, &set); err != nil && err != unix.ESRCH {
			return err
		}
	}
	runtime.GOMAXPROCS(len(cpus))
	return nil
}
