// Tests of slices: what each is answered with, and what they come to.
package program

import (
	"math"
	"strings"
	"testing"
	"time"
)

func TestSlicesAddUpToWhatIsDone(t *testing.T) {
	fleet := fakeFleet(t, &fakeServer{}, `"workload":{|"workload":{"reconnect":true,`)
	fleet.warmUp()
	window := fleet.openWindow()
	var operations, connections int64
	var elapsed, cpu float64
	for _, length := range []time.Duration{10 * time.Millisecond, time.Millisecond, 5 * time.Millisecond} {
		slice := window.slice(length)
		if slice.Operations == 0 || slice.Operations != slice.Counts.Connections {
			t.Error(slice)
		}
		if slice.LatencySumS <= 0 || slice.LatencySumS > slice.ElapsedS*float64(fleet.job.Connections) {
			t.Error(slice)
		}
		operations, connections = operations+slice.Operations, connections+slice.Counts.Connections
		elapsed, cpu = elapsed+slice.ElapsedS, cpu+slice.CPUUs
	}
	done := window.done()
	if done.Operations != operations || done.Scheduled != operations || done.Window.Connections != connections {
		t.Error(done, operations, connections)
	}
	if math.Abs(done.ElapsedS-elapsed) > 1e-6 || math.Abs(done.CPU.TotalUs-cpu) > 1 {
		t.Error(done, elapsed, cpu)
	}
}

func TestOperationsAreSharedByAllSlices(t *testing.T) {
	fleet := fakeFleet(t, &fakeServer{}, `"workload":{|"operations":5,"workload":{`)
	window := fleet.openWindow()
	all, none := window.slice(time.Minute), window.slice(time.Minute)
	if all.Operations != 5 || none.Operations != 0 || none.ElapsedS != 60 || none.LatencySumS != 0 {
		t.Error(all, none)
	}
}

func TestALineAsksForASliceForTheEndOrForNothing(t *testing.T) {
	for line, want := range map[string]struct {
		length time.Duration
		asked  asked
	}{
		"go 0.02\n":  {20 * time.Millisecond, goOn},
		" go  1e-3 ": {time.Millisecond, goOn},
		"end\n":      {0, endOfSlices},
		"\n":         {0, nothing},
		"going 1\n":  {0, nothing},
		"end it\n":   {0, nothing},
	} {
		if length, asked, failure := order(line); length != want.length || asked != want.asked || failure != nil {
			t.Error(line, length, asked, failure)
		}
	}
	for _, line := range []string{"go", "go x", "go 0", "go -1", "go NaN", "go inf", "go 1e999", "go 4e7", "go 1 2"} {
		_, _, failure := order(line + "\n")
		if failure == nil || failure.kind != "bad_job" || !strings.Contains(failure.message, "`"+line+"`") {
			t.Error(line, failure)
		}
	}
}

func TestWhatTheLaboratorySaysIsHeardUntilItIsGone(t *testing.T) {
	heard := listen(strings.NewReader("a job\ngo 1\nend"))
	heard.done.Store(true)
	var lines []string
	for line := range heard.said {
		lines = append(lines, line)
	}
	if strings.Join(lines, "|") != "a job\n|go 1\n|end" {
		t.Error(lines)
	}
}
