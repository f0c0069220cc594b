// How long the server may stay silent while it is asked. The driver is told no time limit: its own would be a call of
// the system's for every read.
package program

import (
	"fmt"
	"time"
)

// patience ends the job when nothing was answered for timeout_s.
type patience struct {
	fleet *fleet
	limit time.Duration
	last  int64
	since time.Time
}

func (f *fleet) newPatience() *patience {
	return &patience{fleet: f, limit: Seconds(f.job.TimeoutS), last: -1, since: time.Now()}
}

// lookEvery is how often to look.
func (p *patience) lookEvery() time.Duration {
	return min(max(p.limit/8, time.Millisecond), time.Second/4)
}

func (p *patience) look() {
	now := p.fleet.answers() + p.fleet.failures()
	if now != p.last {
		p.last, p.since = now, time.Now()
	} else if time.Since(p.since) > p.limit {
		end(&Failure{
			kind: "timeout", message: fmt.Sprintf("the server said nothing for %g s", p.fleet.job.TimeoutS),
		})
	}
}

// watch looks until the channel is closed.
func (f *fleet) watch(over <-chan struct{}) {
	patience := f.newPatience()
	look := time.NewTicker(patience.lookEvery())
	defer look.Stop()
	for {
		select {
		case <-over:
			return
		case <-look.C:
			patience.look()
		}
	}
}
