// What an adapter is told on starting (drivers/ADAPTERS.md has the fields), and what it answers.
package adapter

import (
	"encoding/json"
	"strconv"
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
	MinVersion      *string `json:"min_version"`
	MaxVersion      *string `json:"max_version"`
	Verify          string  `json:"verify"`
	CAFile          *string `json:"ca_file"`
	ServerName      *string `json:"server_name"`
	CertificateFile *string `json:"certificate_file"`
	KeyFile         *string `json:"key_file"`
	Direct          bool    `json:"direct"`
}

// Call is one statement, run once: the texts around its values, and a letter for each value's type.
type Call struct {
	Pieces   []string `json:"pieces"`
	Types    string   `json:"types"`
	Prepared bool     `json:"prepared"`
	Reads    bool     `json:"reads"`
}

// Setup is the line on standard input.
type Setup struct {
	Name      string            `json:"name"`
	Channels  [][2]int          `json:"channels"`
	Endpoint  Endpoint          `json:"endpoint"`
	Account   Account           `json:"account"`
	TLS       TLS               `json:"tls"`
	Options   map[string]string `json:"options"`
	OnConnect []string          `json:"on_connect"`
	Reconnect bool              `json:"reconnect"`
	Calls     []Call            `json:"calls"`
}

// preparable is the text that a driver prepares, with question marks or with $1, $2, …
func (c *Call) preparable(numbered bool) string {
	if !numbered {
		return strings.Join(c.Pieces, "?")
	}
	var text strings.Builder
	for place, piece := range c.Pieces {
		if place > 0 {
			text.WriteString("$" + strconv.Itoa(place))
		}
		text.WriteString(piece)
	}
	return text.String()
}

// want is what is done with a call's rows while it is measured.
func (c *Call) want() Want {
	if c.Reads {
		return ReadRows
	}
	return NoRows
}

// answer is a line of an answer, with its line end. What is answered always has a form in JSON.
func answer(fields any) []byte {
	line, err := json.Marshal(fields)
	if err != nil {
		panic(err)
	}
	return append(line, '\n')
}
