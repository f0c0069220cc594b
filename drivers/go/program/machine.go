// The process as the kernel sees it: its CPU time, and the processors that it may run on.
package program

import (
	"os"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"
)

// cpuTime is what the process has used: the total by a nanosecond clock, the split as the kernel has it.
func cpuTime() CPUTime {
	var total unix.Timespec
	var usage unix.Rusage
	_ = unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &total)
	_ = unix.Getrusage(unix.RUSAGE_SELF, &usage)
	return CPUTime{
		TotalUs: float64(total.Nano()) / 1000, UserUs: float64(usage.Utime.Nano()) / 1000,
		SystemUs: float64(usage.Stime.Nano()) / 1000,
	}
}

// less is what was used since.
func (c CPUTime) less(before CPUTime) CPUTime {
	return CPUTime{c.TotalUs - before.TotalUs, c.UserUs - before.UserUs, c.SystemUs - before.SystemUs}
}

// plus is both together.
func (c CPUTime) plus(more CPUTime) CPUTime {
	return CPUTime{c.TotalUs + more.TotalUs, c.UserUs + more.UserUs, c.SystemUs + more.SystemUs}
}

// pin keeps all threads on these processors, and lets the runtime use so many at once, as it would have had
// it been started there. Threads that come later inherit it.
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
