package snippets

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// between follows each block's output and separates the outputs.
const between = "\x00"

// stage is the program around the blocks to run. Every block has its own node, client and two sessions, on a common
// in-memory cluster.
const stage = `
func main() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	srv, err := servertest.Run(servertest.Shards(2))
	must(err)
	must(srv.WaitReady(time.Minute))
	for _, f := range all {
		c, err := client.Open(ctx, srv.Addresses(), client.WithDialer(srv.Dial))
		must(err)
		_, err = c.CreateNode(ctx, "/prod/jobs", client.NodeConfig{})
		must(err)
		s, err := c.Session(ctx, "/prod/jobs")
		must(err)
		other, err := c.Session(ctx, "/prod/jobs")
		must(err)
		if err := f(ctx, c, s, other); err != nil {
			fmt.Println("it failed:", err)
		}
		fmt.Print("\x00")
		must(c.DropNode(ctx, "/prod/jobs"))
		_ = c.Close()
	}
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
`

// Run runs the blocks, in a module's directory, and compares each block's output with its Output comment. All blocks
// form one program, so that a single cluster is started.
func Run(dir string, all []*Snippet) error {
	scratch, err := os.MkdirTemp("", "snippets-")
	if err != nil {
		return fmt.Errorf("snippets: %w", err)
	}
	defer os.RemoveAll(scratch)
	program := filepath.Join(scratch, "main.go")
	if err := os.WriteFile(program, []byte(joined(all)), 0o600); err != nil {
		return fmt.Errorf("snippets: %w", err)
	}
	command := exec.Command("go", "run", program)
	command.Dir = dir
	var problems strings.Builder
	command.Stderr = &problems
	out, err := command.Output()
	if err != nil {
		return fmt.Errorf("snippets: go run: %w\n%s", err, problems.String())
	}
	printed := strings.Split(string(out), between)
	var failures []error
	for i, s := range all {
		want, ok := s.wants()
		if !ok {
			failures = append(failures,
				fmt.Errorf("%v: without an // Output: comment nobody can tell whether it does what it should", s))
		} else if got := strings.TrimSpace(printed[i]); got != want {
			failures = append(failures, fmt.Errorf("%v: it prints\n%s\nand says\n%s", s, got, want))
		}
	}
	return errors.Join(failures...)
}

// Test runs the tests in each block. Every block is a complete test file.
func Test(dir string, all []*Snippet) error {
	scratch, err := os.MkdirTemp("", "snippets-")
	if err != nil {
		return fmt.Errorf("snippets: %w", err)
	}
	defer os.RemoveAll(scratch)
	var failures []error
	for i, s := range all {
		file := filepath.Join(scratch, fmt.Sprintf("snippet%d_test.go", i))
		if err := os.WriteFile(file, []byte(s.Text), 0o600); err != nil {
			return fmt.Errorf("snippets: %w", err)
		}
		command := exec.Command("go", "test", file)
		command.Dir = dir
		if out, err := command.CombinedOutput(); err != nil {
			failures = append(failures, fmt.Errorf("%v: go test: %w\n%s", s, err, out))
		}
	}
	return errors.Join(failures...)
}

// joined is a program with all blocks. Compile errors name a block's page and line.
func joined(all []*Snippet) string {
	names := []string{"client", "context", "fmt", "servertest", "time"}
	for _, s := range all {
		for _, name := range s.needs() {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	var b strings.Builder
	b.WriteString("package main\n\nimport (\n")
	for _, name := range names {
		fmt.Fprintf(&b, "\t%q\n", packages[name])
	}
	b.WriteString(")\n" + stage)
	b.WriteString("\nvar all = []func(context.Context, *client.Client, *client.Session, *client.Session) error{\n")
	for i := range all {
		fmt.Fprintf(&b, "\tsnippet%d,\n", i)
	}
	b.WriteString("}\n")
	for i, s := range all {
		fmt.Fprintf(&b, "\n%s{\n//line %s:%d\n%s}\nreturn nil\n}\n", signature(fmt.Sprintf("snippet%d", i)), s.Page,
			s.Line, s.Text)
	}
	return b.String()
}
