// When a warm-up may end: the CPU time of an operation has stopped to fall.
package main

import (
	"math"
	"slices"
	"time"
)

// slice is a part of the warm-up.
type slice struct {
	ElapsedS   float64 `json:"elapsed_s"`
	Operations int64   `json:"operations"`
	CPUUs      float64 `json:"cpu_us"`
}

// isSteady is the contract's rule: ten slices, and the median CPU time per operation of the last five is at
// least 0.95 of that of the five before. A slice without operations counts as endless.
func isSteady(slices []slice) bool {
	if len(slices) < 10 {
		return false
	}
	last, before := median(slices[len(slices)-5:]), median(slices[len(slices)-10:len(slices)-5])
	return !math.IsInf(last, 1) && last >= 0.95*before
}

func median(part []slice) float64 {
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
func (l *load) warmUp() ([]slice, *bool) {
	noted := []slice{}
	within := seconds(l.job.Driver.SteadyWithinS)
	if within <= 0 && l.job.WarmupS <= 0 {
		return noted, nil
	}
	working := l.start(nil)
	defer working.Wait()
	defer l.stopped.Store(true)
	if within <= 0 {
		time.Sleep(seconds(l.job.WarmupS))
		return noted, nil
	}
	began, operations, cpu, steady := time.Now(), l.operations(), cpuUsed().Total, false
	for !steady && time.Since(began) < within && !l.stopped.Load() {
		time.Sleep(100 * time.Millisecond)
		now, used := l.operations(), cpuUsed().Total
		noted = append(noted, slice{time.Since(began).Seconds(), now - operations, used - cpu})
		operations, cpu = now, used
		steady = isSteady(noted)
	}
	return noted, &steady
}
