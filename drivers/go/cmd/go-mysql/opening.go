// How a connection is opened: what the driver is told.
package main

import (
	"context"
	"net"
	"strconv"
	"time"

	"github.com/go-mysql-org/go-mysql/client"
	"github.com/go-mysql-org/go-mysql/driver"

	"tlstax/probes/drivers/go/program"
)

// opener holds all that the driver's Connect is given.
type opener struct {
	address  string
	account  program.Account
	database string
	timeout  time.Duration
	options  []client.Option
}

// connectOptions are the driver's own words for a connection, those of its data source name, and what it makes
// of them.
var connectOptions = map[string]driver.DriverOption{
	"compress":     driver.CompressOption,
	"collation":    driver.CollationOption,
	"readTimeout":  driver.ReadTimeoutOption,
	"writeTimeout": driver.WriteTimeoutOption,
}

func configure(name string, job *program.Job) (program.Opener, error) {
	made := &opener{address: job.Endpoint.Path, account: job.Account, timeout: program.Seconds(job.TimeoutS)}
	if job.Endpoint.Kind == "tcp" {
		made.address = net.JoinHostPort(job.Endpoint.Host, strconv.Itoa(job.Endpoint.Port))
	}
	if job.Account.Database != nil {
		made.database = *job.Account.Database
	}
	switch job.TLS.Mode {
	case "required":
		made.options = append(made.options, driver.UseSslOption)
	case "on":
		config, err := job.TLS.Config()
		if err != nil {
			return nil, err
		}
		if config.ServerName == "" {
			config.ServerName = job.Endpoint.Host
		}
		made.options = append(made.options, func(c *client.Conn) error { c.SetTLSConfig(config); return nil })
	}
	for option, value := range job.Driver.Options {
		if err := made.addOption(name, option, value); err != nil {
			return nil, err
		}
	}
	return made.open, nil
}

// addOption hands the driver an option after what the job says, so that it wins. It is tried on a connection that
// is none, so that a wrong value is told before anything is opened.
func (o *opener) addOption(name, option, value string) (err error) {
	set, known := connectOptions[option]
	switch {
	case option == "timeout":
		o.timeout, err = time.ParseDuration(value)
		return err
	case option == "ssl" && value == "true":
		o.options = append(o.options, driver.UseSslOption)
		return nil
	case option == "ssl":
		return program.BadJob("%s: the option ssl can only be true, not %s", name, value)
	case !known:
		const words = "collation, compress, readTimeout, ssl, timeout and writeTimeout"
		return program.BadJob("%s has no option %s: there are %s", name, option, words)
	}
	o.options = append(o.options, func(c *client.Conn) error { return set(c, value) })
	return set(new(client.Conn), value)
}

func (o *opener) open() (program.Connection, error) {
	conn, err := client.ConnectWithContext(context.Background(), o.address, o.account.User, o.account.Password,
		o.database, o.timeout, o.options...)
	if err != nil {
		return nil, err
	}
	return connection{conn}, nil
}
