// go-mysql-org/go-mysql/client behind the contract: a job from standard input, events to standard output.
package main

import (
	"bufio"
	"encoding/json"
	"os"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const driverModule = "github.com/go-mysql-org/go-mysql"

// clientName is the driver's name in the laboratory, the one argument of this program.
var clientName = "go-mysql"

var speaking sync.Mutex

// event is one line that this client says; its fields are those of contract/event.schema.json.
type event map[string]any

func say(told event) {
	line, err := json.Marshal(told)
	if err != nil {
		panic(err)
	}
	speaking.Lock()
	defer speaking.Unlock()
	_, _ = os.Stdout.Write(append(line, '\n'))
}

// end says a fatal failure and ends the process.
func end(failure *failure) {
	say(failure.event(true))
	os.Exit(1)
}

func main() {
	if len(os.Args) > 1 {
		clientName = os.Args[1]
	}
	input := bufio.NewReader(os.Stdin)
	line, err := input.ReadBytes('\n')
	if err != nil && len(line) == 0 {
		return
	}
	asked, wrong := readJob(line)
	if wrong != nil {
		end(wrong)
	}
	if err := pin(asked.CPUs); err != nil {
		end(&failure{kind: "limits", message: "the process cannot be kept on the job's cpus: " + err.Error()})
	}
	made, wrong := newLoad(asked)
	if wrong != nil {
		end(wrong)
	}
	begin, over := make(chan struct{}), make(chan struct{})
	var done atomic.Bool
	go listen(input, &done, begin, over)
	go made.watch()
	ready := made.setUp()
	say(ready)
	<-begin
	result := made.measure()
	done.Store(true)
	say(result)
	<-over
	made.close()
}

// listen hears `go` and the end of the conversation. When that comes before `done`, the laboratory is gone, and
// the process ends at once.
func listen(input *bufio.Reader, done *atomic.Bool, begin, over chan struct{}) {
	var once sync.Once
	for {
		line, err := input.ReadString('\n')
		if strings.TrimSpace(line) == "go" {
			once.Do(func() { close(begin) })
		}
		if err != nil {
			break
		}
	}
	if !done.Load() {
		os.Exit(0)
	}
	close(over)
}

// driverVersion is the version of the driver that was linked in.
func driverVersion() string {
	built, _ := debug.ReadBuildInfo()
	for _, module := range built.Deps {
		if module.Path == driverModule {
			return strings.TrimPrefix(module.Version, "v")
		}
	}
	return "unknown"
}

func seconds(number float64) time.Duration { return time.Duration(number * float64(time.Second)) }
