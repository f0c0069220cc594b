// What the connections of a job share: numbers in sequence, and how many operations may still be started.
package program

import (
	"sync"
	"sync/atomic"
)

// sequence gives each number once; `perOperation` is how many an operation takes.
type sequence struct {
	next, last   int64
	perOperation int64
}

// supply says whether one more operation may be started.
type supply struct {
	mutex     sync.Mutex
	sequences []*sequence
	left      int64
	limited   bool
	stopped   atomic.Bool
}

// limit lets so many more operations be started; nil as many as there is time for.
func (s *supply) limit(operations *int64) {
	s.limited = operations != nil
	if s.limited {
		s.left = *operations
	}
	s.stopped.Store(false)
}

// stop lets no more operations be started.
func (s *supply) stop() { s.stopped.Store(true) }

// reserve starts one operation: it appends the first of its numbers of each sequence. False where none may be
// started; then none may be any more.
func (s *supply) reserve(numbers map[*sequence]int64) bool {
	if s.stopped.Load() {
		return false
	}
	if !s.limited && len(s.sequences) == 0 {
		return true
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	enough := !s.limited || s.left > 0
	for _, one := range s.sequences {
		enough = enough && one.next+one.perOperation-1 <= one.last
	}
	if !enough {
		s.stop()
		return false
	}
	s.left--
	for _, one := range s.sequences {
		numbers[one] = one.next
		one.next += one.perOperation
	}
	return true
}
