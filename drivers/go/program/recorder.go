// What is written down of the work: latencies, failures, and some answers for the laboratory to check.
package program

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

const (
	longestNs          = int64(10 * time.Minute)
	significantFigures = 3
)

// latency is a histogram that takes its memory when the first value comes.
type latency struct{ histogram *hdrhistogram.Histogram }

func (l *latency) record(took time.Duration) {
	if l.histogram == nil {
		l.histogram = hdrhistogram.New(1, longestNs, significantFigures)
	}
	_ = l.histogram.RecordValue(min(max(took.Nanoseconds(), 1), longestNs))
}

type errorKey struct {
	kind string
	code int
}

// recorder is one worker's notes.
type recorder struct {
	started                                      int64
	connect, firstQuery, query, close, operation latency
	errors                                       map[errorKey]int64
	// latencySum is over the operations that succeeded, lastAnswer when the last one ended.
	latencySum time.Duration
	lastAnswer time.Time
}

func newRecorder() *recorder { return &recorder{errors: map[errorKey]int64{}} }

// succeed notes an operation that began then and ended now.
func (r *recorder) succeed(began time.Time) {
	r.lastAnswer = time.Now()
	took := r.lastAnswer.Sub(began)
	r.operation.record(took)
	r.latencySum += took
}

func (r *recorder) fail(failure *Failure) {
	r.lastAnswer = time.Now()
	r.errors[errorKey{failure.kind, failure.code}]++
}

// phases are the histograms by the contract's names.
func (r *recorder) phases() map[string]*latency {
	return map[string]*latency{
		"connect": &r.connect, "first_query": &r.firstQuery, "query": &r.query, "close": &r.close,
		"operation": &r.operation,
	}
}

// add takes another's notes in.
func (r *recorder) add(other *recorder) {
	r.started += other.started
	mine := r.phases()
	for name, theirs := range other.phases() {
		if theirs.histogram == nil {
			continue
		}
		if mine[name].histogram == nil {
			mine[name].histogram = hdrhistogram.New(1, longestNs, significantFigures)
		}
		mine[name].histogram.Merge(theirs.histogram)
	}
	for key, count := range other.errors {
		r.errors[key] += count
	}
}

// encoded are the histograms that hold anything, in HdrHistogram's V2 encoding, which the
// library deflates and writes in base64.
func (r *recorder) encoded() map[string]string {
	texts := map[string]string{}
	for name, phase := range r.phases() {
		if phase.histogram == nil {
			continue
		}
		text, err := phase.histogram.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
		if err != nil {
			end(&Failure{kind: "internal", message: "a histogram cannot be encoded: " + err.Error()})
		}
		texts[name] = string(text)
	}
	return texts
}

// counted are the failures as the contract has them.
func (r *recorder) counted() []ErrorCount {
	counts := []ErrorCount{}
	for key, count := range r.errors {
		counts = append(counts, ErrorCount{Kind: key.kind, Code: codeOrNil(key.code), Count: count})
	}
	return counts
}

// samples are the first answers of the window.
type samples struct {
	left  atomic.Int64
	mutex sync.Mutex
	kept  []RowSample
}

// want is what is wanted of a statement's answer.
func (s *samples) want(one *template) Want {
	switch {
	case !one.asks:
		return NoRows
	case s.left.Load() > 0:
		return KeepRows
	}
	return ReadRows
}

// keep keeps a statement with its rows, if one more is wanted.
func (s *samples) keep(one *template, values []any, rows [][]*string) {
	if s.left.Add(-1) < 0 {
		return
	}
	if rows == nil {
		rows = [][]*string{}
	}
	sample := RowSample{SQL: one.render(values), Rows: rows}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.kept = append(s.kept, sample)
}
