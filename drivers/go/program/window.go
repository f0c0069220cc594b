// The measured window: slices, one for each go, and what they come to in all.
package program

import "time"

// window is all slices; what lies between two of them counts nowhere. `operations`, `failures`, `opened` and
// `latency` are sums until the end of the last slice.
type window struct {
	fleet                        *fleet
	elapsed                      time.Duration
	cpu                          CPUTime
	operations, failures, opened int64
	latency                      time.Duration
	openedBefore, doneBefore     int64
}

// openWindow begins with nothing written down.
func (f *fleet) openWindow() *window {
	f.begin(f.job.Operations)
	if f.program.selects {
		f.samples.left.Store(int64(f.job.RowSamples))
	}
	made := &window{fleet: f}
	made.sum()
	made.openedBefore, made.doneBefore = made.opened, made.operations
	return made
}

// slice works for so long and finishes what was started.
func (w *window) slice(length time.Duration) Slice {
	began, cpu := time.Now(), cpuTime()
	finished := w.fleet.workUntil(began.Add(length))
	w.await(finished, began)
	operations, opened, latency := w.operations, w.opened, w.latency
	w.sum()
	elapsed := w.fleet.lastAnswer().Sub(began)
	if elapsed <= 0 {
		elapsed = length
	}
	used := cpuTime().less(cpu)
	w.elapsed += elapsed
	w.cpu = w.cpu.plus(used)
	return Slice{
		Event: "slice", ElapsedS: elapsed.Seconds(), Operations: w.operations - operations,
		LatencySumS: (w.latency - latency).Seconds(), CPUUs: used.TotalUs, Counts: counts(w.opened - opened),
		RoundsS: []float64{},
	}
}

// await waits for the workers. Meanwhile it says once a second what was finished since it last did, and ends the
// job when nothing is answered.
func (w *window) await(finished <-chan struct{}, began time.Time) {
	patience := w.fleet.newPatience()
	look := time.NewTicker(patience.lookEvery())
	defer look.Stop()
	next, operations, failures := began.Add(time.Second), w.operations, w.failures
	for {
		select {
		case <-finished:
			return
		case at := <-look.C:
			patience.look()
			if at.Before(next) {
				continue
			}
			next = next.Add(time.Second)
			now, failed := w.fleet.operations(), w.fleet.failures()
			say(Interval{"interval", at.Sub(began).Seconds(), now - operations, failed - failures})
			operations, failures = now, failed
		}
	}
}

func (w *window) sum() {
	w.operations, w.failures, w.opened = w.fleet.operations(), w.fleet.failures(), w.fleet.opened.Load()
	w.latency = 0
	for _, one := range w.fleet.workers {
		w.latency += one.recorder.latencySum
	}
}

// done is the result of all slices.
func (w *window) done() Done {
	notes := newRecorder()
	for _, one := range w.fleet.workers {
		notes.add(one.recorder)
	}
	return Done{
		Event: "done", ElapsedS: w.elapsed.Seconds(), Operations: w.operations - w.doneBefore,
		Scheduled: notes.started, Window: counts(w.opened - w.openedBefore),
		Lifetime: counts(w.opened), HistogramsNs: notes.encoded(), CPU: w.cpu,
		ThreadsCPUUs: []float64{}, Errors: notes.counted(),
		RowSamples: append([]RowSample{}, w.fleet.samples.kept...),
		ReportedS:  map[string]float64{}, RoundsS: []float64{}, PhaseWire: map[string]string{},
	}
}

func counts(connections int64) Counts {
	return Counts{Connections: connections, Handshakes: []struct{}{}, Authentications: map[string]int64{}}
}
