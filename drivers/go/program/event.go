// The events: what this client says on standard output, one JSON object a line.
package program

import (
	"encoding/json"
	"os"
	"sync"
)

// TLSView is what one side says was negotiated, with the names that OpenSSL prints.
type TLSView struct {
	Version           string  `json:"version"`
	Cipher            string  `json:"cipher"`
	Resumed           *bool   `json:"resumed"`
	Group             *string `json:"group"`
	HelloRetry        *bool   `json:"hello_retry"`
	CertificateKey    *string `json:"certificate_key"`
	CertificateSha256 *string `json:"certificate_sha256"`
}

// Negotiated is how many connections were negotiated alike, and what both sides say of them.
type Negotiated struct {
	Connections int      `json:"connections"`
	Client      *TLSView `json:"client"`
	Server      *TLSView `json:"server"`
	ClientTells bool     `json:"client_tells"`
}

// WarmupSlice is a part of the warm-up.
type WarmupSlice struct {
	ElapsedS   float64 `json:"elapsed_s"`
	Operations int64   `json:"operations"`
	CPUUs      float64 `json:"cpu_us"`
}

// Ready says that all connections are up and warm and nothing is in flight.
type Ready struct {
	Event         string        `json:"event"`
	Client        string        `json:"client"`
	ClientVersion string        `json:"client_version"`
	PID           int           `json:"pid"`
	ServerVersion string        `json:"server_version"`
	TLSLibrary    *struct{}     `json:"tls_library"`
	Negotiated    []Negotiated  `json:"negotiated"`
	Warmup        []WarmupSlice `json:"warmup"`
	Steady        *bool         `json:"steady"`
}

// Interval is the progress since the one before.
type Interval struct {
	Event      string  `json:"event"`
	ElapsedS   float64 `json:"elapsed_s"`
	Operations int64   `json:"operations"`
	Errors     int64   `json:"errors"`
}

// Slice is what was done in one slice.
type Slice struct {
	Event       string    `json:"event"`
	ElapsedS    float64   `json:"elapsed_s"`
	Operations  int64     `json:"operations"`
	LatencySumS float64   `json:"latency_sum_s"`
	CPUUs       float64   `json:"cpu_us"`
	Counts      Counts    `json:"counts"`
	RoundsS     []float64 `json:"rounds_s"`
}

// ErrorEvent says what went wrong and where to look.
type ErrorEvent struct {
	Event   string `json:"event"`
	Kind    string `json:"kind"`
	Fault   string `json:"fault"`
	Fatal   bool   `json:"fatal"`
	Message string `json:"message"`
	Code    *int   `json:"code"`
	Count   int    `json:"count"`
}

// Counts are connections opened over a span of time; a driver does not tell the rest.
type Counts struct {
	Connections     int64            `json:"connections"`
	Handshakes      []struct{}       `json:"handshakes"`
	Authentications map[string]int64 `json:"authentications"`
}

// CPUTime is what the process has used.
type CPUTime struct {
	TotalUs  float64 `json:"total_us"`
	UserUs   float64 `json:"user_us"`
	SystemUs float64 `json:"system_us"`
}

// ErrorCount is how often an error of one kind and code was met in the window.
type ErrorCount struct {
	Kind  string `json:"kind"`
	Code  *int   `json:"code"`
	Count int64  `json:"count"`
}

// RowSample is a statement as it was run, and its rows.
type RowSample struct {
	SQL  string      `json:"sql"`
	Rows [][]*string `json:"rows"`
}

// Done is the result.
type Done struct {
	Event        string             `json:"event"`
	ElapsedS     float64            `json:"elapsed_s"`
	Operations   int64              `json:"operations"`
	Scheduled    int64              `json:"scheduled"`
	Skipped      int64              `json:"skipped"`
	Window       Counts             `json:"window"`
	Lifetime     Counts             `json:"lifetime"`
	HistogramsNs map[string]string  `json:"histograms_ns"`
	CPU          CPUTime            `json:"cpu"`
	ThreadsCPUUs []float64          `json:"threads_cpu_us"`
	Wire         *struct{}          `json:"wire"`
	Errors       []ErrorCount       `json:"errors"`
	RowSamples   []RowSample        `json:"row_samples"`
	Overhead     *struct{}          `json:"overhead"`
	ReportedS    map[string]float64 `json:"reported_s"`
	RoundsS      []float64          `json:"rounds_s"`
	PhaseWire    map[string]string  `json:"phase_wire"`
}

var speaking sync.Mutex

// say writes one event.
func say(event any) {
	speaking.Lock()
	defer speaking.Unlock()
	write(event)
}

// end says a fatal failure and ends the process. Nobody may speak after it, so that it is the only one.
func end(failure *Failure) {
	speaking.Lock()
	write(failure.event())
	os.Exit(1)
}

func write(event any) {
	line, err := json.Marshal(event)
	if err != nil {
		panic(err)
	}
	_, _ = os.Stdout.Write(append(line, '\n'))
}
