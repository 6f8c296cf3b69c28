// Package optable creates a command from every command entry in the table of plain operations. Start at Add. A row in
// package operation declares the whole command: arguments, flags, help, and the table or fields to show.
package optable

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
	"github.com/signalbox/signalbox/gateway/operation"
	"github.com/signalbox/signalbox/internal/apijson"
)

// face is a command in the table of plain operations, with the request the command line fills.
type face struct {
	*cli.Frame
	*operation.Face
	of      *operation.Operation
	request any // a pointer
	members []requestField
	// name, args and flags are the words in Use.
	name, args, flags []string
	texts             map[*requestField]*string // data flags
	given             map[string]func()         // pointer flags: each function sets a field
	said              cli.ActFlags
}

// requestField is a field in the request.
type requestField struct {
	apijson.Field
	tags  reflect.StructTag
	value reflect.Value
}

// Add adds the commands from the table of plain operations to existing groups.
func Add(frame *cli.Frame, root *cobra.Command) {
	for _, f := range allFaces(frame) {
		group, _, err := root.Find(f.name[:len(f.name)-1])
		if err != nil {
			panic(f.Use + ": " + err.Error()) // tests create all commands
		}
		group.AddCommand(f.command())
	}
}

func allFaces(frame *cli.Frame) (list []*face) {
	for _, o := range operation.All() {
		for i := range o.Faces {
			list = append(list, newFace(frame, &o, &o.Faces[i]))
		}
	}
	return list
}

func newFace(frame *cli.Frame, of *operation.Operation, as *operation.Face) *face {
	request := reflect.New(of.Request)
	f := &face{Frame: frame, Face: as, of: of, request: request.Interface(), texts: make(map[*requestField]*string),
		given: make(map[string]func())}
	for _, field := range apijson.Fields(of.Request) {
		tags, value := of.Request.FieldByIndex(field.Index).Tag, request.Elem().FieldByIndex(field.Index)
		f.members = append(f.members, requestField{field, tags, value})
		if field.Of == reflect.TypeOf(as.Sets) {
			value.Set(reflect.ValueOf(as.Sets))
		}
	}
	for _, word := range strings.Fields(as.Use) {
		switch {
		case strings.Contains(word, "--"):
			f.flags = append(f.flags, word)
		case strings.ToLower(word) == word:
			f.name = append(f.name, word)
		default:
			f.args = append(f.args, word)
		}
	}
	return f
}

// member finds the field with a JSON name, nil if the request has no such field.
func (f *face) member(name string) *requestField {
	return cli.Find(f.members, func(m *requestField) bool { return m.Name == name })
}

// tagged finds the field with a word in a tag, or else the field whose JSON name matches the word.
func (f *face) tagged(tag, word string) *requestField {
	found := cmp.Or(cli.Find(f.members, func(m *requestField) bool { return m.tags.Get(tag) == word }),
		f.member(strings.ReplaceAll(strings.ToLower(word), "-", "_")))
	if found == nil {
		panic(fmt.Sprintf("%s: the request has no field for %s", f.Use, word)) // tests create all commands
	}
	return found
}

// command creates the command.
func (f *face) command() *cobra.Command {
	c := &cobra.Command{
		Use:   cmp.Or(f.Form, strings.Join(append(f.name[len(f.name)-1:], f.args...), " ")),
		Short: f.Short, Long: f.Long, Example: f.Example, RunE: f.run,
	}
	if f.Form != "" {
		c.Args = cli.Arguments(f.args...)
	}
	for _, word := range f.flags {
		f.addFlag(c, strings.Trim(word, "[]-"))
	}
	if f.Confirm != nil {
		cli.AddYes(c)
	}
	if f.member("reason") != nil {
		keeper := "history"
		if f.name[0] == "rollout" || f.name[0] == "process" {
			keeper = f.name[0]
		}
		f.said.Add(c, keeper)
	}
	return c
}

// addFlag adds the flag for a field.
func (f *face) addFlag(c *cobra.Command, name string) {
	m := f.tagged("flag", name)
	help := strings.ReplaceAll(cmp.Or(m.tags.Get("help"), m.About), "'", "`")
	fallback, _ := strconv.Atoi(m.tags.Get("default"))
	switch p := m.value.Addr().Interface().(type) {
	case *string:
		c.Flags().StringVar(p, name, "", help)
	case *bool:
		c.Flags().BoolVar(p, name, false, help)
	case *[]string:
		c.Flags().StringSliceVar(p, name, nil, help)
	case *int:
		c.Flags().IntVar(p, name, fallback, help)
	case *uint64:
		if *p = uint64(fallback); m.Name == "limit" {
			c.Flags().Var((*operation.Amount)(p), name, help)
		} else {
			c.Flags().Uint64Var(p, name, *p, help)
		}
	case *[]byte:
		f.texts[m] = c.Flags().String(name, "", help)
	case **string:
		text := c.Flags().String(name, "", help)
		f.given[name] = func() { *p = text }
	case **int:
		number := c.Flags().Int(name, 0, help)
		f.given[name] = func() { *p = number }
	default:
		panic(fmt.Sprintf("%s: --%s cannot be a flag", f.Use, name)) // tests make all commands
	}
}

// fill puts into the request what the command line says.
func (f *face) fill(c *cobra.Command, args []string) (err error) {
	for _, word := range f.flags {
		if name := strings.TrimPrefix(word, "--"); name != word && !c.Flags().Changed(name) {
			return cli.Misuse(c, "--%s is missing", name)
		}
	}
	for i, text := range args {
		if err := f.setArgument(strings.Trim(f.args[i], "[]"), text); err != nil {
			return err
		}
	}
	for name, set := range f.given {
		if c.Flags().Changed(name) {
			set()
		}
	}
	for m, text := range f.texts {
		data, err := f.Data(*text)
		if err != nil {
			return err
		}
		m.value.SetBytes(data)
	}
	for _, m := range f.members {
		if m.tags.Get("wide") != "" && f.Wide() {
			m.value.SetBool(true)
		}
	}
	if reason := f.member("reason"); reason != nil {
		by := f.said.By(f.Frame)
		reason.value.SetString(by.Reason)
		f.member("author").value.SetString(by.Author)
	}
	return nil
}

// setArgument puts an argument into the request.
func (f *face) setArgument(word, text string) (err error) {
	m := f.tagged("arg", word)
	switch p := m.value.Addr().Interface().(type) {
	case *string:
		if *p = text; m.tags.Get("check") == "place" {
			return cli.CheckPlace(text)
		}
	case *[]byte:
		*p, err = f.Data(text)
	case *uint64:
		if m.Name == "limit" {
			if err = (*operation.Amount)(p).Set(text); err != nil {
				err = cli.Errorf(cli.ExitUsage, "%s: %w", word, err)
			}
			return err
		}
		*p, err = cli.Number(text, m.tags.Get("form"))
	case *int:
		var number uint64
		number, err = cli.Number(text, m.tags.Get("form"))
		*p = int(min(number, math.MaxInt))
	}
	return err
}

// run carries the operation out. A change that would destroy something asks first; a change with Force asks only where
// the user forces.
func (f *face) run(c *cobra.Command, args []string) error {
	if err := f.fill(c, args); err != nil {
		return err
	}
	force := f.member("force")
	if f.Confirm != nil && (force == nil || force.value.Bool()) {
		err := f.Confirmed(c, func(ctx context.Context, box *client.Client) (string, error) {
			return f.Confirm(ctx, box, f.request)
		})
		if err != nil {
			return err
		}
	}
	return f.Ask(c, func(ctx context.Context, box *client.Client) error {
		if f.Table != nil && f.of.All != nil {
			rows := f.rows(args)
			all := f.of.All(ctx, box, f.request)
			return cli.AddAll(rows, all, func(item any) { rows.Add(item, f.Table.Cells(item)...) })
		}
		answer, err := f.of.Run(ctx, box, f.request)
		switch {
		case errors.Is(err, client.ErrPreconditionFailed) && force != nil && !force.value.Bool():
			return fmt.Errorf("%w; use --force to delete it anyway", err)
		case err != nil:
			return err
		case f.Then != "":
			return f.DoneOr(func() error { return f.showObject(ctx, box) })
		case f.Table != nil:
			return f.table(args, answer)
		case f.Face.Show != nil:
			return f.show(answer)
		}
		changed := answer.(operation.Done).Changed
		return f.Frame.Done(changed, "%s", f.doneText(args, changed))
	})
}

// rows begins the table. A list of all nodes always shows the node of an item.
func (f *face) rows(args []string) *cli.Rows {
	titles := slices.Clone(f.Table.Titles)
	if len(args) == 0 && titles[0] == "+NODE" {
		titles[0] = "NODE"
	}
	return f.Rows(titles...)
}

// table prints the items of an answer.
func (f *face) table(args []string, answer any) error {
	if f.Table.Notes != nil {
		for _, note := range f.Table.Notes(answer) {
			f.Say("%s", note)
		}
	}
	return cli.List(f.rows(args), f.Table.Items(answer), f.Table.Cells)
}

// show prints an answer that is no list.
func (f *face) show(answer any) error {
	shown := f.Face.Show(f.request, answer)
	return f.Frame.Show(answer, shown.Fields, shown.Sections...)
}

// showObject shows the object after the change, as the command of the name in Then does with --strict.
func (f *face) showObject(ctx context.Context, box *client.Client) error {
	all := allFaces(f.Frame)
	then := all[slices.IndexFunc(all, func(other *face) bool { return strings.Join(other.name, " ") == f.Then })]
	for _, word := range then.args {
		m := then.tagged("arg", word)
		m.value.Set(f.member(m.Name).value)
	}
	then.tagged("flag", "strict").value.SetBool(true)
	answer, err := then.of.Run(ctx, box, then.request)
	if err != nil {
		return err
	}
	return then.show(answer)
}

// doneText says what was done: the words of Done, with arguments in place of their words.
func (f *face) doneText(args []string, changed bool) string {
	var pairs []string
	for i, text := range args {
		word := strings.Trim(f.args[i], "[]")
		if m := f.tagged("arg", word); m.Of.Kind() == reflect.Slice {
			pairs = append(pairs, word, operation.Plural(m.value.Len(), "byte"))
		} else {
			pairs = append(pairs, word, cli.Safe(text))
		}
	}
	done := strings.NewReplacer(pairs...).Replace(f.Face.Done)
	if !changed {
		done = strings.Replace(done, " is ", " was ", 1) + " already"
	}
	return done
}
