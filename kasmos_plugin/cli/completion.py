"""`kas completion`: the script that a shell evaluates."""

import click


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the completion script of a shell.

    \b
    Examples:
      eval "$(kas completion bash)"                                  in ~/.bashrc
      eval "$(kas completion zsh)"                                   in ~/.zshrc
      kas completion fish > ~/.config/fish/completions/kas.fish
    """
    from click.shell_completion import get_completion_class

    from kasmos_plugin.cli.app import kas

    kind = get_completion_class(shell)
    if kind is None:
        raise click.UsageError(f"click knows no completion for {shell}")
    click.echo(kind(kas, {}, "kas", "_KAS_COMPLETE").source())
