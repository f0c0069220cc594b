// Tests of reading jobs: defaults, and refusals that say what is wrong.
package program

import (
	"strings"
	"testing"
)

var fake = &client{name: "fake-1.0", driver: &Driver{Product: "fake"}}

const plainJob = `{"schema":2,"endpoint":{"kind":"tcp","host":"h","port":3306},` +
	`"account":{"user":"u","password":"p"},"tls":{"mode":"off"},"connections":2,"duration_s":1,"seed":1,` +
	`"workload":{"statements":[{"sql":"SELECT 1"}]}}`

func TestAPlainJobIsRead(t *testing.T) {
	job, failure := fake.readJob([]byte(plainJob))
	if failure != nil || job.TimeoutS != 10 || job.Workload.Protocol != "text" || job.Driver.Batch != 1 {
		t.Fatal(job, failure)
	}
}

func TestWhatIsNotDoneIsRefused(t *testing.T) {
	for change, want := range map[string]string{
		`"schema":2|"schema":1`:                                       "schema is 1",
		`"seed":1|"seed":1,"more":1`:                                  "more",
		`"mode":"off"|"mode":"on","groups":"x25519"`:                  "tls.groups",
		`"seed":1|"seed":1,"driver":{"batch":2}`:                      "fake has no batches",
		`"seed":1|"seed":1,"schedule":{"mode":"open","rate_per_s":1}`: "closed loop",
		`"workload":{|"workload":{"storm":true,`:                      "storm",
		`"mode":"off"|"mode":"on","resumption":true,"verify":"none"`:  "tls.resumption",
	} {
		before, after, _ := strings.Cut(change, "|")
		_, failure := fake.readJob([]byte(strings.Replace(plainJob, before, after, 1)))
		if failure == nil || failure.kind != "bad_job" || !strings.Contains(failure.message, want) {
			t.Error(change, failure)
		}
	}
}
