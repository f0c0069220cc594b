// The job: all that a load client is told, read strictly and refused in one sentence where it cannot be done.
package program

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Endpoint is where the server is: a host and a port, or the path of a Unix socket.
type Endpoint struct {
	Kind string `json:"kind"`
	Host string `json:"host"`
	Port int    `json:"port"`
	Path string `json:"path"`
}

// Account is whom to log in as.
type Account struct {
	User     string  `json:"user"`
	Password string  `json:"password"`
	Database *string `json:"database"`
}

// TLS is what the driver is told of encryption; with mode unset nothing, with mode required nothing else.
type TLS struct {
	Mode            string  `json:"mode"`
	TrustedCAFile   *string `json:"trusted_ca_file"`
	MinVersion      *string `json:"min_version"`
	MaxVersion      *string `json:"max_version"`
	CipherList      *string `json:"cipher_list"`
	Ciphersuites    *string `json:"ciphersuites"`
	Groups          *string `json:"groups"`
	Verify          string  `json:"verify"`
	CAFile          *string `json:"ca_file"`
	ServerName      *string `json:"server_name"`
	CertificateFile *string `json:"certificate_file"`
	KeyFile         *string `json:"key_file"`
	Resumption      bool    `json:"resumption"`
	WeakDH          bool    `json:"weak_dh"`
	Library         *string `json:"library"`
	KeylogFile      *string `json:"keylog_file"`
}

// Parameter is a value that is put into a statement; contract/README.md has the kinds.
type Parameter struct {
	Kind     string   `json:"kind"`
	Low      int64    `json:"low"`
	High     int64    `json:"high"`
	First    int64    `json:"first"`
	Last     int64    `json:"last"`
	Of       string   `json:"of"`
	By       int64    `json:"by"`
	Template string   `json:"template"`
	Values   []string `json:"values"`
}

// Statement is one SQL statement with {name} for its parameters.
type Statement struct {
	SQL        string               `json:"sql"`
	Parameters map[string]Parameter `json:"parameters"`
	Repeat     *int                 `json:"repeat"`
	Protocol   *string              `json:"protocol"`
}

// Workload is what one operation is.
type Workload struct {
	Reconnect  bool              `json:"reconnect"`
	Protocol   string            `json:"protocol"`
	Statements []Statement       `json:"statements"`
	Mix        []json.RawMessage `json:"mix"`
	Storm      bool              `json:"storm"`
	OnConnect  []string          `json:"on_connect"`
}

// Schedule is when operations start; only a closed loop is done here.
type Schedule struct {
	Mode     string  `json:"mode"`
	Rate     float64 `json:"rate_per_s"`
	Arrivals string  `json:"arrivals"`
}

// DriverTerms is what only a driver is told.
type DriverTerms struct {
	Options       map[string]string `json:"options"`
	SteadyWithinS float64           `json:"steady_within_s"`
	Batch         int               `json:"batch"`
}

// Job is one line of JSON.
type Job struct {
	Schema          int               `json:"schema"`
	Endpoint        Endpoint          `json:"endpoint"`
	Account         Account           `json:"account"`
	TLS             TLS               `json:"tls"`
	Workload        Workload          `json:"workload"`
	Schedule        Schedule          `json:"schedule"`
	Connections     int               `json:"connections"`
	Threads         int               `json:"threads"`
	CPUs            []int             `json:"cpus"`
	WarmupS         float64           `json:"warmup_s"`
	DurationS       float64           `json:"duration_s"`
	Operations      *int64            `json:"operations"`
	Rounds          int               `json:"rounds"`
	Reset           []string          `json:"reset"`
	TimeoutS        float64           `json:"timeout_s"`
	SourceAddresses []string          `json:"source_addresses"`
	Seed            uint64            `json:"seed"`
	RowSamples      int               `json:"row_samples"`
	Attributes      map[string]string `json:"attributes"`
	Driver          *DriverTerms      `json:"driver"`
}

// readJob reads a job from its line. A field that is unknown or of the wrong type, and whatever this driver
// cannot be told, is a bad_job.
func (c *client) readJob(line []byte) (*Job, *Failure) {
	job := &Job{
		Schedule: Schedule{Mode: "closed"}, WarmupS: 0.1, TimeoutS: 10, RowSamples: 16, Rounds: 1,
		Workload: Workload{Protocol: "text"},
	}
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(job); err != nil {
		return nil, BadJob("the job cannot be read: %s", strings.TrimPrefix(err.Error(), "json: "))
	}
	if job.Driver == nil {
		job.Driver = &DriverTerms{Batch: 1}
	}
	if reason := c.rejection(job); reason != "" {
		return nil, BadJob("%s", reason)
	}
	return job, nil
}

// rejection says why this client does not do a job; empty where it does.
func (c *client) rejection(job *Job) string {
	rules := []struct {
		broken bool
		reason string
	}{
		{job.Schema != 2, fmt.Sprintf("schema is %d, and this driver's program speaks 2", job.Schema)},
		{job.Connections < 1, "connections must be at least 1"},
		{job.DurationS <= 0, "duration_s must be more than 0"},
		{job.TimeoutS <= 0, "timeout_s must be more than 0"},
		{job.WarmupS < 0, "warmup_s must be 0 or more"},
		{job.Endpoint.Kind != "tcp" && job.Endpoint.Kind != "unix", "endpoint.kind must be tcp or unix"},
		{job.Operations != nil && *job.Operations < 1, "operations must be at least 1"},
		{job.Workload.Storm, "this driver's program does no storm"},
		{len(job.Workload.Mix) > 0, "this driver's program does no mix of transactions"},
		{len(job.Workload.Statements) == 0 && !job.Workload.Storm, "a workload needs statements"},
		{job.Schedule.Mode != "closed", "this driver's program does a closed loop alone"},
		{len(job.Reset) > 0, "this driver's program works in one go and says no reset"},
		{job.Driver.Batch > 1, c.driver.Product + " has no batches: batch must be 1"},
	}
	for _, rule := range rules {
		if rule.broken {
			return rule.reason
		}
	}
	return tlsRejection(&job.TLS)
}

// tlsRejection says what of the encryption asked for cannot be told to crypto/tls; empty where all can be.
func tlsRejection(terms *TLS) string {
	if !slices.Contains([]string{"off", "on", "unset", "required"}, terms.Mode) {
		return "tls.mode must be off, on, unset or required"
	}
	untold := []struct {
		name  string
		asked bool
	}{
		{"cipher_list", terms.CipherList != nil}, {"ciphersuites", terms.Ciphersuites != nil},
		{"groups", terms.Groups != nil}, {"resumption", terms.Resumption}, {"weak_dh", terms.WeakDH},
		{"library", terms.Library != nil}, {"keylog_file", terms.KeylogFile != nil},
	}
	for _, field := range untold {
		if field.asked {
			return "this driver cannot be told tls." + field.name
		}
	}
	return ""
}
