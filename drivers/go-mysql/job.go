// The job: all that a load client is told, read strictly and refused in one sentence where it cannot be done.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

type endpoint struct {
	Kind string `json:"kind"`
	Host string `json:"host"`
	Port int    `json:"port"`
	Path string `json:"path"`
}

type account struct {
	User     string  `json:"user"`
	Password string  `json:"password"`
	Database *string `json:"database"`
}

type tlsTerms struct {
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

type parameter struct {
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

type statementTerms struct {
	SQL        string               `json:"sql"`
	Parameters map[string]parameter `json:"parameters"`
	Repeat     int                  `json:"repeat"`
	Protocol   *string              `json:"protocol"`
}

type workload struct {
	Reconnect  bool              `json:"reconnect"`
	Protocol   string            `json:"protocol"`
	Statements []statementTerms  `json:"statements"`
	Mix        []json.RawMessage `json:"mix"`
	Storm      bool              `json:"storm"`
	OnConnect  []string          `json:"on_connect"`
}

type schedule struct {
	Mode     string  `json:"mode"`
	Rate     float64 `json:"rate_per_s"`
	Arrivals string  `json:"arrivals"`
}

type driverTerms struct {
	Options       map[string]string `json:"options"`
	SteadyWithinS float64           `json:"steady_within_s"`
	Batch         int               `json:"batch"`
}

type job struct {
	Schema          int               `json:"schema"`
	Endpoint        endpoint          `json:"endpoint"`
	Account         account           `json:"account"`
	TLS             tlsTerms          `json:"tls"`
	Workload        workload          `json:"workload"`
	Schedule        schedule          `json:"schedule"`
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
	Driver          *driverTerms      `json:"driver"`
}

// readJob reads a job from its line. A field that is unknown or of the wrong type, and whatever cannot be done
// or told to the driver, is a bad_job.
func readJob(line []byte) (*job, *failure) {
	asked := &job{}
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(asked); err != nil {
		return nil, badJob("the job cannot be read: %s", strings.TrimPrefix(err.Error(), "json: "))
	}
	if asked.Driver == nil {
		asked.Driver = &driverTerms{Batch: 1}
	}
	terms := &asked.TLS
	for _, rule := range []struct {
		broken bool
		reason string
	}{
		{asked.Schema != 1, fmt.Sprintf("schema is %d, and this driver's program speaks 1", asked.Schema)},
		{asked.Connections < 1 || asked.DurationS <= 0 || asked.TimeoutS <= 0,
			"connections, duration_s and timeout_s must be more than 0"},
		{asked.Workload.Storm, "this driver's program does no storm"},
		{len(asked.Workload.Mix) > 0, "this driver's program does no mix of transactions"},
		{!asked.Workload.Storm && len(asked.Workload.Statements) == 0, "a workload needs statements"},
		{asked.Schedule.Mode != "closed", "this driver's program does a closed loop alone"},
		{len(asked.Reset) > 0, "this driver's program works in one go and says no reset"},
		{asked.Driver.Batch > 1, "go-mysql has no batches: batch must be 1"},
		{terms.Mode != "off" && terms.Mode != "on" && terms.Mode != "unset", "tls.mode must be off, on or unset"},
		{terms.CipherList != nil, "this driver cannot be told tls.cipher_list"},
		{terms.Ciphersuites != nil, "this driver cannot be told tls.ciphersuites"},
		{terms.Groups != nil, "this driver cannot be told tls.groups"},
		{terms.Resumption, "this driver cannot be told tls.resumption"},
		{terms.WeakDH, "this driver cannot be told tls.weak_dh"},
		{terms.Library != nil, "this driver cannot be told tls.library"},
		{terms.KeylogFile != nil, "this driver cannot be told tls.keylog_file"},
	} {
		if rule.broken {
			return nil, badJob("%s", rule.reason)
		}
	}
	return asked, nil
}
