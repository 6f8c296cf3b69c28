package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/signalbox/signalbox/loadgen"
	"github.com/signalbox/signalbox/loadgen/report"
)

// runFlags are the flag values for run.
type runFlags struct {
	// config is filled directly by the flags; complete adds the fields that come from several flags or from files.
	config loadgen.Config
	// output and html select the report's form: text or JSON on standard output, and a page with charts in a file.
	output string
	html   string
	// tokenFile, useTLS and the certificate files are converted to config.Token and config.TLS.
	tokenFile string
	useTLS    bool
	ca        string
	cert, key string
	weights   string
}

// newRun returns the command that generates load.
func newRun(s streams) *cobra.Command {
	var f runFlags
	c := &cobra.Command{
		Use:   "run --workload NAME",
		Short: "Make load, and report",
		Long: `Makes load and reports how much was done, how long it took, and what it cost the
hosts. What the cluster promises is checked all the while.

Without --endpoints it starts a cluster of its own: processes of the signalbox
program, which it builds when it runs inside the module, in a temporary
directory and on free ports. They are stopped when it ends, also by Ctrl-C.

By default every caller begins its next operation when its last one is done.
With --rate operations are due at fixed times, and latency counts from then: a
cluster that stands still for a second shows a second, and not one slow
operation for each caller.

Hosts merge updates that come fast. So that every update of watch is sent to
every watcher, the next one is made when all have seen the last; --open-loop makes
them as fast as they are acknowledged, and reports how many were merged.

Exit codes: 0 measured, and everything held; 3 a check failed; 4 more operations
failed than --max-errors; 64 the flags are wrong; 130 broken off; 1 anything
else.`,
		Example: `  # what can be done?
  loadgen list

  # the throughput of locks on three hosts
  loadgen run --workload lock --concurrency 512 --connections 8 --hosts 3 --duration 10s

  # their latency at half of that
  loadgen run --workload lock --concurrency 512 --connections 8 --hosts 3 --rate 20000

  # how fast one lock goes around among 32
  loadgen run --workload handoff --concurrency 32

  # what 100,000 sessions cost
  loadgen run --workload idle --sessions 100000 --connections 100 --duration 30s

  # 2,000 consumers follow 1,000 workers, of which 100 a second come or go
  loadgen run --workload discovery --workers 1000 --watchers 2000 --rate 100

  # a cluster that runs already, as JSON and as a page with charts
  loadgen run --workload mixed --endpoints 10.0.0.1:7420,10.0.0.2:7420 \
      --admin-endpoints http://10.0.0.1:7422,http://10.0.0.2:7422 --output json --html mixed.html`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error { return f.run(c, s) },
	}
	f.add(c.Flags())
	return c
}

// add declares the flags in four groups: work, hosts, settings for single workloads, and report. The help lists the
// flags in declaration order.
func (r *runFlags) add(flags *pflag.FlagSet) {
	flags.SortFlags = false
	c := &r.config
	flags.StringVarP(&c.Workload, "workload", "w", "", "workload to run; loadgen list explains them")
	flags.IntVar(&c.Callers, "concurrency", 0,
		"number of concurrent callers (default depends on the workload, mostly 64)")
	flags.IntVar(&c.Connections, "connections", 0,
		"number of connections (default one for 128 callers, up to 8)")
	flags.DurationVar(&c.Duration, "duration", loadgen.DefaultDuration, "measured time")
	flags.DurationVar(&c.Warmup, "warmup", 0, "unmeasured time before")
	flags.Float64Var(&c.Rate, "rate", 0,
		"operations per second to start, whether or not earlier ones are done (default as many as possible)")

	flags.StringVar(&c.Endpoints, "endpoints", "",
		"addresses of a running cluster, separated by commas (default start one)")
	flags.StringSliceVar(&c.Admin, "admin-endpoints", nil, "admin pages of those hosts, for memory and CPU")
	flags.IntVar(&c.Hosts, "hosts", 1, "hosts to start: 1 or 3")
	flags.IntVar(&c.Shards, "shards", 0, "data shards of started hosts (default that of signalbox serve)")
	flags.StringVar(&c.Binary, "binary", "",
		"the signalbox program to start (default built inside the module, or from the PATH)")
	flags.StringArrayVar(&c.ServerFlags, "server-flag", nil,
		"a flag for every host that is started, such as --server-flag=--raft-heartbeat-interval=20ms")
	flags.StringVar(&r.tokenFile, "token-file", "", "a file with the token that lets clients in, and nothing else")
	flags.BoolVar(&r.useTLS, "tls", false, "connect with TLS")
	flags.StringVar(&r.ca, "tls-ca", "",
		"the authorities that sign the hosts' certificates, PEM (default those of the system)")
	flags.StringVar(&r.cert, "tls-cert", "", "the certificate to show, PEM")
	flags.StringVar(&r.key, "tls-key", "", "its key, PEM")

	flags.StringVar(&c.Node, "node", "", "the coordination node to work in (default a new one, dropped afterwards)")
	flags.DurationVar(&c.SessionTimeout, "session-timeout", loadgen.DefaultSessionTimeout,
		"the timeout of all sessions")
	flags.IntVar(&c.Payload, "data-size", loadgen.DefaultPayload, "bytes of data to write")
	flags.BoolVar(&c.Ephemeral, "ephemeral", false,
		"lock: semaphores that come with the acquire and go with the release")
	flags.IntVar(&c.Limit, "limit", 0, "counting: how many may own the semaphore (default 4)")
	flags.DurationVar(&c.Hold, "hold", 0, "handoff, counting: how long a caller keeps the semaphore")
	flags.IntVar(&c.Sessions, "sessions", 0, "idle: how many are held (default as many as callers, or 1000)")
	flags.IntVar(&c.Watchers, "watchers", 0,
		"watch, config, discovery: how many watch (default 1000, one for each caller, 200)")
	flags.IntVar(&c.Workers, "workers", 0, "discovery: how many are registered (default 100)")
	flags.BoolVar(&c.Free, "open-loop", false,
		"watch: update again at once, without waiting until all watchers have seen the last update")
	flags.BoolVar(&c.SharedWatches, "shared-watches", false,
		"watch, discovery: let the watchers of a connection share a watch, as those of one client do")
	flags.Float64Var(&c.Writes, "write-rate", 0,
		"read-relaxed, read-strict: updates per second beside the reads; -1 for none (default 10)")
	flags.StringVar(&r.weights, "weights", "",
		"mixed: how often each is drawn (default lock=40,read-relaxed=40,read-strict=10,session=5,handoff=5)")

	flags.StringVarP(&r.output, "output", "o", "text", "form of the report on standard output: text or json")
	flags.StringVar(&r.html, "html", "", "also write the report, with charts, to this file")
	flags.Int64Var(&c.AllowErrors, "max-errors", 0, "maximum number of failed operations; -1 for any number")
}

// run generates the load, with a progress line if standard error is a terminal. A failed run may still have a report,
// so the report is written before the error is returned.
func (r *runFlags) run(c *cobra.Command, s streams) error {
	if err := r.complete(); err != nil {
		return usageError{err}
	}
	r.config.Command = commandLine(s.args)
	var live *progress
	if s.live {
		live = newProgress(s.err)
		r.config.Progress = live.show
	}
	report, err := loadgen.Run(c.Context(), r.config)
	if live != nil {
		live.clear()
	}
	if report == nil {
		return err
	}
	return errors.Join(r.write(report, s), err)
}

// commandLine returns the command line, quoted for a shell.
func commandLine(args []string) string {
	line := "loadgen"
	for _, a := range args {
		if a == "" || strings.ContainsFunc(a, func(r rune) bool {
			return !strings.ContainsRune("-_=+,./:@%", r) && !unicode.IsLetter(r) && !unicode.IsDigit(r)
		}) {
			a = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
		line += " " + a
	}
	return line
}

// complete parses flag values that are not plain values.
func (r *runFlags) complete() (err error) {
	if r.output != "text" && r.output != "json" {
		return fmt.Errorf("--output is %q: it can be text or json", r.output)
	}
	if r.config.Workload == "" {
		return errors.New("no workload is named: --workload NAME; loadgen list explains them")
	}
	if r.config.Weights, err = parseWeights(r.weights); err != nil {
		return err
	}
	if r.tokenFile != "" {
		token, err := os.ReadFile(r.tokenFile)
		if err != nil {
			return err
		}
		r.config.Token = strings.TrimSpace(string(token))
	}
	if r.config.TLS, err = r.tls(); err != nil {
		return err
	}
	return r.config.Validate()
}

// tls returns the TLS configuration for connections, nil without TLS. Certificates without --tls are an error,
// because the load would silently use plain connections.
func (r *runFlags) tls() (*tls.Config, error) {
	if !r.useTLS {
		if r.ca != "" || r.cert != "" || r.key != "" {
			return nil, errors.New("certificates are given without --tls")
		}
		return nil, nil
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if r.ca != "" {
		text, err := os.ReadFile(r.ca)
		if err != nil {
			return nil, err
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("%s has no certificates in it", r.ca)
		}
	}
	if r.cert != "" || r.key != "" {
		pair, err := tls.LoadX509KeyPair(r.cert, r.key)
		if err != nil {
			return nil, err
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

// parseWeights parses lock=40,session=5.
func parseWeights(text string) (map[string]int, error) {
	if text == "" {
		return nil, nil
	}
	weights := make(map[string]int)
	for _, part := range strings.Split(text, ",") {
		name, value, _ := strings.Cut(part, "=")
		n, err := strconv.Atoi(value)
		if err != nil {
			return nil, fmt.Errorf("the weight %q: it is written NAME=NUMBER", part)
		}
		weights[strings.TrimSpace(name)] = n
	}
	return weights, nil
}

// write writes the report in the requested form.
func (r *runFlags) write(report *report.Report, s streams) error {
	if r.html != "" {
		file, err := os.Create(r.html)
		if err != nil {
			return err
		}
		if err := errors.Join(report.WriteHTML(file), file.Close()); err != nil {
			return fmt.Errorf("write %s: %w", r.html, err)
		}
	}
	if r.output == "json" {
		return report.WriteJSON(s.out)
	}
	return report.WriteText(s.out)
}
