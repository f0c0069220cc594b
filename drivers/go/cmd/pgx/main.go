// The adapter of pgx, by its own connection and not by database/sql.
package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"tlstax/probes/drivers/go/adapter"
)

func main() {
	adapter.Main(&adapter.Driver{
		Module: "github.com/jackc/pgx/v5", Configure: configure, Errors: driverErrors, Direct: true, Numbered: true,
	})
}

// driverErrors: 42704 is a parameter that the server does not know either.
var driverErrors = adapter.Errors{
	State: func(err error) string {
		var refused *pgconn.PgError
		if errors.As(err, &refused) {
			return refused.Code
		}
		return ""
	},
	Meanings: []adapter.Meaning{
		{Words: "server refused TLS connection", Kind: "no_tls"},
		{Words: "conn closed", Kind: "server_closed"},
	},
	SettingRefused: []any{"42704"},
}

// configure hands over libpq's words; of versions of TLS and other names of servers there are none in pgx, so that
// where TLS is on, crypto/tls is told all of it.
func configure(setup *adapter.Setup) (adapter.Opener, error) {
	told := *setup
	told.TLS.MinVersion, told.TLS.MaxVersion = nil, nil
	config, err := pgx.ParseConfig(told.LibpqWords())
	if err != nil {
		return nil, err
	}
	if _, ownWord := setup.Options["sslmode"]; setup.TLS.Mode == "on" && !ownWord {
		if config.TLSConfig, err = tlsConfig(setup); err != nil {
			return nil, err
		}
		config.Fallbacks = nil
	}
	return func() (adapter.Connection, error) {
		conn, err := pgx.ConnectConfig(context.Background(), config)
		if err != nil {
			return nil, err
		}
		return &connection{conn: conn}, nil
	}, nil
}

func tlsConfig(setup *adapter.Setup) (*tls.Config, error) {
	config, err := setup.TLS.Config()
	if err != nil {
		return nil, err
	}
	if config.ServerName == "" {
		config.ServerName = setup.Endpoint.Host
	}
	if setup.TLS.Direct {
		config.NextProtos = []string{"postgresql"}
	}
	return config, nil
}

type connection struct {
	conn  *pgx.Conn
	named int
}

func (c *connection) Run(text string, want adapter.Want) ([][]*string, error) {
	return c.run(text, nil, want)
}

func (c *connection) run(text string, values []any, want adapter.Want) ([][]*string, error) {
	rows, err := c.conn.Query(context.Background(), text, values...)
	if err != nil {
		return nil, err
	}
	return read(rows, want)
}

// Prepare prepares a statement by a name, which then stands for it.
func (c *connection) Prepare(text string) (adapter.Prepared, error) {
	c.named++
	name := fmt.Sprintf("s%d", c.named)
	if _, err := c.conn.Prepare(context.Background(), name, text); err != nil {
		return nil, err
	}
	return prepared{c, name}, nil
}

func (c *connection) TLS() (*tls.ConnectionState, bool) {
	encrypted, is := c.conn.PgConn().Conn().(*tls.Conn)
	if !is {
		return nil, true
	}
	state := encrypted.ConnectionState()
	return &state, true
}

func (c *connection) Close() { _ = c.conn.Close(context.Background()) }

type prepared struct {
	connection *connection
	name       string
}

func (p prepared) Run(values []any, want adapter.Want) ([][]*string, error) {
	return p.connection.run(p.name, values, want)
}

// read reads all rows as the driver's values, as a program would.
func read(rows pgx.Rows, want adapter.Want) ([][]*string, error) {
	defer rows.Close()
	var kept [][]*string
	for rows.Next() {
		values, err := rows.Values()
		if err != nil {
			return nil, err
		}
		if want == adapter.KeepRows {
			kept = append(kept, texts(values))
		}
	}
	return kept, rows.Err()
}

func texts(values []any) []*string {
	made := make([]*string, len(values))
	for place, value := range values {
		if value != nil {
			text := fmt.Sprint(value)
			made[place] = &text
		}
	}
	return made
}
