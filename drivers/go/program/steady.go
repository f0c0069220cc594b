// When a warm-up may end: the CPU time of an operation has stopped to fall.
package program

import (
	"math"
	"slices"
	"time"
)

const (
	slice         = 100 * time.Millisecond
	compared      = 5
	steadyAtLeast = 0.95
)

// isSteady is whether the median CPU time per operation of the last five slices is at least 0.95 of the
// median of the five before them. A slice without operations has no CPU time per operation; it counts as endless.
func isSteady(slices []WarmupSlice) bool {
	if len(slices) < 2*compared {
		return false
	}
	last := median(slices[len(slices)-compared:])
	before := median(slices[len(slices)-2*compared : len(slices)-compared])
	return !math.IsInf(last, 1) && last >= steadyAtLeast*before
}

func median(part []WarmupSlice) float64 {
	costs := make([]float64, len(part))
	for place, one := range part {
		costs[place] = math.Inf(1)
		if one.Operations > 0 {
			costs[place] = one.CPUUs / float64(one.Operations)
		}
	}
	slices.Sort(costs)
	return costs[len(costs)/2]
}

// warmUp works for warmup_s, or in slices until steady, steady_within_s at most. Then nothing is in flight.
func (f *fleet) warmUp() ([]WarmupSlice, *bool) {
	noted := []WarmupSlice{}
	within := f.job.Driver.SteadyWithinS
	if within <= 0 && f.job.WarmupS <= 0 {
		return noted, nil
	}
	f.begin(nil)
	finished := f.workUntil(time.Now().Add(Seconds(longestS)))
	defer func() {
		f.supply.stop()
		<-finished
	}()
	if within <= 0 {
		time.Sleep(Seconds(f.job.WarmupS))
		return noted, nil
	}
	began, operations, cpu := time.Now(), f.operations(), cpuTime().TotalUs
	steady := false
	for !steady && time.Since(began) < Seconds(within) && !f.supply.stopped.Load() {
		time.Sleep(slice)
		now, used := f.operations(), cpuTime().TotalUs
		noted = append(noted, WarmupSlice{time.Since(began).Seconds(), now - operations, used - cpu})
		operations, cpu = now, used
		steady = isSteady(noted)
	}
	return noted, &steady
}

// Seconds is a span that a job has as a number.
func Seconds(number float64) time.Duration { return time.Duration(number * float64(time.Second)) }
