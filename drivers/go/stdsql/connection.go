// Package stdsql is a connection of database/sql: a pool with one connection of its own, and what is prepared on it.
package stdsql

import (
	"context"
	"crypto/tls"
	"database/sql"
	"database/sql/driver"
	"sync/atomic"

	"tlstax/probes/drivers/go/adapter"
)

// Opener has the driver's connector, and what the last TLS handshake agreed on where somebody listens to that. One
// that Interpolates prepares nothing, since the driver was told to put in values itself.
type Opener struct {
	Connector    driver.Connector
	Interpolates bool
	LastTLS      atomic.Pointer[tls.ConnectionState]
}

// Open opens a connection.
func (o *Opener) Open() (adapter.Connection, error) {
	o.LastTLS.Store(nil)
	pool := sql.OpenDB(o.Connector)
	conn, err := pool.Conn(context.Background())
	if err != nil {
		_ = pool.Close()
		return nil, err
	}
	return &connection{opener: o, pool: pool, conn: conn}, nil
}

type connection struct {
	opener   *Opener
	pool     *sql.DB
	conn     *sql.Conn
	prepared []*sql.Stmt
}

func (c *connection) Run(text string, want adapter.Want) ([][]*string, error) {
	return c.run(text, nil, want)
}

func (c *connection) run(text string, values []any, want adapter.Want) ([][]*string, error) {
	if want == adapter.NoRows {
		_, err := c.conn.ExecContext(context.Background(), text, values...)
		return nil, err
	}
	rows, err := c.conn.QueryContext(context.Background(), text, values...)
	if err != nil {
		return nil, err
	}
	return read(rows, want)
}

// Prepare prepares, unless the driver was told to put in values itself: then it is handed them.
func (c *connection) Prepare(text string) (adapter.Prepared, error) {
	if c.opener.Interpolates {
		return interpolated{c, text}, nil
	}
	statement, err := c.conn.PrepareContext(context.Background(), text)
	if err != nil {
		return nil, err
	}
	c.prepared = append(c.prepared, statement)
	return prepared{statement}, nil
}

func (c *connection) TLS() (*tls.ConnectionState, bool) {
	state := c.opener.LastTLS.Load()
	return state, state != nil
}

func (c *connection) Close() {
	for _, statement := range c.prepared {
		_ = statement.Close()
	}
	_ = c.conn.Close()
	_ = c.pool.Close()
}

type prepared struct{ statement *sql.Stmt }

func (p prepared) Run(values []any, want adapter.Want) ([][]*string, error) {
	if want == adapter.NoRows {
		_, err := p.statement.ExecContext(context.Background(), values...)
		return nil, err
	}
	rows, err := p.statement.QueryContext(context.Background(), values...)
	if err != nil {
		return nil, err
	}
	return read(rows, want)
}

type interpolated struct {
	connection *connection
	text       string
}

func (i interpolated) Run(values []any, want adapter.Want) ([][]*string, error) {
	return i.connection.run(i.text, values, want)
}

// read reads all rows as texts, as a program would.
func read(rows *sql.Rows, want adapter.Want) ([][]*string, error) {
	defer func() { _ = rows.Close() }()
	columns, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	row, targets := make([]sql.NullString, len(columns)), make([]any, len(columns))
	for place := range row {
		targets[place] = &row[place]
	}
	var kept [][]*string
	for rows.Next() {
		if err := rows.Scan(targets...); err != nil {
			return nil, err
		}
		if want == adapter.KeepRows {
			kept = append(kept, texts(row))
		}
	}
	return kept, rows.Err()
}

func texts(row []sql.NullString) []*string {
	made := make([]*string, len(row))
	for place, value := range row {
		if value.Valid {
			made[place] = &value.String
		}
	}
	return made
}
