package deploy_test

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// kind is the type of a PromQL expression.
type kind string

const (
	scalar  kind = "scalar"
	instant kind = "instant vector"
	ranged  kind = "range vector"
)

// result describes an expression: its kind, and the labels of its series.
type result struct {
	kind   kind
	labels map[string]bool
	// metric is the series name if the expression is a plain selector.
	metric string
}

// query parses an expression and checks it against the existing series. It supports the part of PromQL that dashboards
// use, and rejects everything else.
type query struct {
	series series
	tokens []string
	at     int
}

// check parses an expression. It recovers panics of type complaint, and returns them as errors.
func check(s series, expression string) (r result, err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case complaint:
			err = fmt.Errorf("%s: in %s", string(p), expression)
		default:
			panic(p)
		}
	}()
	q := &query{series: s, tokens: tokenize(expression)}
	r = q.binary(0)
	if q.at < len(q.tokens) {
		q.complain("%q is too much", q.peek())
	}
	if r.kind == ranged {
		q.complain("it yields a range vector, which cannot be shown")
	}
	return r, nil
}

type complaint string

func (q *query) complain(format string, args ...any) { panic(complaint(fmt.Sprintf(format, args...))) }

func (q *query) peek() string {
	if q.at < len(q.tokens) {
		return q.tokens[q.at]
	}
	return ""
}

func (q *query) next() string {
	t := q.peek()
	if t == "" {
		q.complain("it ends too early")
	}
	q.at++
	return t
}

func (q *query) take(token string) bool {
	if q.peek() == token {
		q.at++
		return true
	}
	return false
}

func (q *query) expect(token string) {
	if got := q.next(); got != token {
		q.complain("%q where %q must be", got, token)
	}
}

// strength is how tightly a sign between two expressions binds.
var strength = map[string]int{
	"or": 1, "and": 2, "unless": 2, "==": 3, "!=": 3, ">": 3, "<": 3, ">=": 3, "<=": 3,
	"+": 4, "-": 4, "*": 5, "/": 5, "%": 5, "^": 6,
}

// binary parses an expression with operators that bind more tightly than above.
func (q *query) binary(above int) result {
	left := q.unary()
	for {
		sign := q.peek()
		binds := strength[sign]
		if binds <= above {
			return left
		}
		q.at++
		q.take("bool")
		on, isOn := q.matching()
		many := q.group()
		right := q.binary(binds)
		left = q.join(sign, left, right, on, isOn, many)
	}
}

func (q *query) matching() (labels []string, on bool) {
	switch {
	case q.take("on"):
		return q.names(), true
	case q.take("ignoring"):
		return q.names(), false
	}
	return nil, false
}

func (q *query) group() (side string) {
	for _, side := range []string{"group_left", "group_right"} {
		if q.take(side) {
			if q.peek() == "(" {
				q.names()
			}
			return side
		}
	}
	return ""
}

// join returns the result of a binary operator on two expressions.
func (q *query) join(sign string, left, right result, on []string, isOn bool, many string) result {
	if left.kind == ranged || right.kind == ranged {
		q.complain("%s between range vectors", sign)
	}
	sets := sign == "and" || sign == "or" || sign == "unless"
	switch {
	case sets && (left.kind == scalar || right.kind == scalar):
		q.complain("%s needs vectors on both sides", sign)
	case left.kind == scalar && right.kind == scalar:
		return result{kind: scalar}
	case left.kind == scalar:
		return result{kind: instant, labels: right.labels}
	case right.kind == scalar:
		return result{kind: instant, labels: left.labels}
	}
	for _, l := range on {
		if !left.labels[l] || !right.labels[l] {
			q.complain("%s is matched on %s, which one side does not have", sign, l)
		}
	}
	if sign == "or" {
		return result{kind: instant, labels: both(left.labels, right.labels)}
	}
	if !isOn && on == nil && !maps.Equal(left.labels, right.labels) {
		q.complain("the sides of %s have different labels, %v and %v, and never match",
			sign, slices.Sorted(maps.Keys(left.labels)), slices.Sorted(maps.Keys(right.labels)))
	}
	if many == "group_right" {
		return result{kind: instant, labels: right.labels}
	}
	return result{kind: instant, labels: left.labels}
}

// both returns the labels that all series in two expressions have.
func both(a, b map[string]bool) map[string]bool {
	out := make(map[string]bool)
	for l := range a {
		if b[l] {
			out[l] = true
		}
	}
	return out
}

func (q *query) unary() result {
	if q.take("-") || q.take("+") {
		return q.unary()
	}
	r := q.primary()
	if q.take("[") {
		if r.kind != instant || r.metric == "" {
			q.complain("only a selector can have a range")
		}
		if d := q.next(); !duration.MatchString(d) {
			q.complain("%q is no duration", d)
		}
		q.expect("]")
		r.kind = ranged
	}
	if q.take("offset") {
		if d := q.next(); !duration.MatchString(d) {
			q.complain("%q is no duration", d)
		}
	}
	return r
}

var aggregations = map[string]int{"sum": 1, "min": 1, "max": 1, "avg": 1, "count": 1, "topk": 2, "bottomk": 2,
	"quantile": 2}

// functions maps supported functions to their parameter kinds.
var functions = map[string][]kind{
	"rate": {ranged}, "increase": {ranged}, "changes": {ranged}, "predict_linear": {ranged, scalar},
	"max_over_time": {ranged}, "histogram_quantile": {scalar, instant}, "vector": {scalar}, "absent": {instant},
	"time": {},
}

func (q *query) primary() result {
	t := q.next()
	switch {
	case t == "(":
		r := q.binary(0)
		q.expect(")")
		r.metric = ""
		return r
	case number.MatchString(t):
		return result{kind: scalar}
	case aggregations[t] > 0 && (q.peek() == "(" || q.peek() == "by" || q.peek() == "without"):
		return q.aggregation(t)
	case functions[t] != nil && q.peek() == "(":
		return q.function(t)
	case !name.MatchString(t) || strings.HasPrefix(t, `"`):
		q.complain("%q where an expression must be", t)
	case q.peek() == "(":
		q.complain("the function %s is not known", t)
	}
	return q.selector(t)
}

func (q *query) aggregation(of string) result {
	by, without, grouped := q.grouping()
	args := q.arguments()
	if !grouped {
		by, without, _ = q.grouping()
	}
	if len(args) != aggregations[of] || args[len(args)-1].kind != instant {
		q.complain("%s needs %d arguments, the last an instant vector", of, aggregations[of])
	}
	inner := args[len(args)-1].labels
	for _, l := range append(slices.Clone(by), without...) {
		if !inner[l] {
			q.complain("%s by or without %s, which what it is of does not have", of, l)
		}
	}
	switch {
	case of == "topk" || of == "bottomk":
		return result{kind: instant, labels: inner}
	case without != nil:
		left := maps.Clone(inner)
		for _, l := range without {
			delete(left, l)
		}
		return result{kind: instant, labels: left}
	}
	left := make(map[string]bool)
	for _, l := range by {
		left[l] = true
	}
	return result{kind: instant, labels: left}
}

func (q *query) grouping() (by, without []string, found bool) {
	switch {
	case q.take("by"):
		return q.names(), nil, true
	case q.take("without"):
		return nil, q.names(), true
	}
	return nil, nil, false
}

// names parses a label list in parentheses.
func (q *query) names() (list []string) {
	q.expect("(")
	for !q.take(")") {
		if len(list) > 0 {
			q.expect(",")
		}
		l := q.next()
		if !name.MatchString(l) {
			q.complain("%q is no label", l)
		}
		list = append(list, l)
	}
	return list
}

func (q *query) arguments() (args []result) {
	q.expect("(")
	for !q.take(")") {
		if len(args) > 0 {
			q.expect(",")
		}
		args = append(args, q.binary(0))
	}
	return args
}

func (q *query) function(f string) result {
	args, wanted := q.arguments(), functions[f]
	if len(args) != len(wanted) {
		q.complain("%s has %d arguments and needs %d", f, len(args), len(wanted))
	}
	labels := map[string]bool{}
	for i, a := range args {
		if a.kind != wanted[i] {
			q.complain("%s needs %s and gets %s", f, wanted[i], a.kind)
		}
		if a.kind == scalar {
			continue
		}
		labels = a.labels
		counter := isCounter(a.metric)
		if grows := f == "rate" || f == "increase"; grows != counter && (grows || f == "predict_linear") {
			q.complain("%s of %s: a counter's name ends with _total, _bucket, _sum or _count", f, a.metric)
		}
	}
	if f == "time" {
		return result{kind: scalar}
	}
	if f == "histogram_quantile" {
		if !labels["le"] {
			q.complain("%s needs the label le", f)
		}
		labels = maps.Clone(labels)
		delete(labels, "le")
	}
	return result{kind: instant, labels: labels}
}

func isCounter(metric string) bool {
	return slices.ContainsFunc([]string{"_total", "_bucket", "_sum", "_count"},
		func(end string) bool { return strings.HasSuffix(metric, end) })
}

// selector parses the text after a metric name, and checks that such series exist.
func (q *query) selector(metric string) result {
	known, ok := q.series[metric]
	if !ok {
		q.complain("there is no series %s", metric)
	}
	if q.take("{") {
		for first := true; !q.take("}"); first = false {
			if !first {
				q.expect(",")
			}
			label, sign, text := q.next(), q.next(), q.next()
			if !slices.Contains([]string{"=", "!=", "=~", "!~"}, sign) || !strings.HasPrefix(text, `"`) {
				q.complain("%s%s%s is no matcher", label, sign, text)
			}
			want, err := strconv.Unquote(text)
			if err != nil {
				q.complain("%s is no text", text)
			}
			q.matcher(metric, label, sign, want, known)
		}
	}
	labels := make(map[string]bool)
	for l := range known {
		labels[l] = true
	}
	return result{kind: instant, labels: labels, metric: metric}
}

// matcher checks that a label exists, and can have the compared value.
func (q *query) matcher(metric, label, sign, want string, known map[string]map[string]bool) {
	values, ok := known[label]
	if !ok {
		q.complain("%s has no label %s", metric, label)
	}
	if label == "instance" {
		return // whatever the scraper calls a host
	}
	alternatives := []string{want}
	if sign == "=~" || sign == "!~" {
		if _, err := regexp.Compile(want); err != nil {
			q.complain("%s: %v", label, err)
		}
		alternatives = strings.Split(want, "|")
	}
	for _, a := range alternatives {
		if !values[a] {
			q.complain("%s is never %q in %s", label, a, metric)
		}
	}
}
