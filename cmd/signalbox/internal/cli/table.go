package cli

import (
	"strings"
	"unicode/utf8"
)

// columnGap separates two columns.
const columnGap = "   "

// Column is a table column.
type Column struct {
	Title string
	// Wide: shown with -o wide only.
	Wide bool
	// Right marks a column with numbers.
	Right bool
}

// Columns returns columns for titles. A title that begins with a plus is for a wide column, and one that ends with a
// number sign for a column with numbers: "NAME", "OWNERS#", "+REVISION#".
func Columns(titles ...string) []Column {
	columns := make([]Column, len(titles))
	for i, title := range titles {
		c := &columns[i]
		title, c.Wide = strings.CutPrefix(title, "+")
		c.Title, c.Right = strings.CutSuffix(title, "#")
	}
	return columns
}

// tableText formats rows under their column titles, with every column as wide as necessary. paint colours the titles.
func tableText(columns []Column, rows [][]string, wide bool, paint func(string) string) string {
	var shown []int
	for i, c := range columns {
		if wide || !c.Wide {
			shown = append(shown, i)
		}
	}
	widths := make([]int, len(columns))
	for _, i := range shown {
		widths[i] = utf8.RuneCountInString(columns[i].Title)
		for _, row := range rows {
			widths[i] = max(widths[i], utf8.RuneCountInString(row[i]))
		}
	}
	var b strings.Builder
	line := func(cell func(i int) string, paint func(string) string) {
		var l strings.Builder
		for n, i := range shown {
			text := cell(i)
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(text))
			switch {
			case columns[i].Right:
				l.WriteString(pad + text)
			case n == len(shown)-1:
				l.WriteString(text)
			default:
				l.WriteString(text + pad)
			}
			if n < len(shown)-1 {
				l.WriteString(columnGap)
			}
		}
		b.WriteString(paint(l.String()) + "\n")
	}
	line(func(i int) string { return columns[i].Title }, paint)
	for _, row := range rows {
		line(func(i int) string { return row[i] }, func(s string) string { return s })
	}
	return b.String()
}
